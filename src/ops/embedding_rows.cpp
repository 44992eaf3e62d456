// SPDX-License-Identifier: Apache-2.0
// Embedding, its gradient, and one-hot.
#include <fmt/format.h>

#include <cstring>

#include "ops/builders.h"
#include "ops/index_parts.h"
#include "ops/moving_parts.h"
#include "ops/row_families.h"

namespace reprise {
namespace {

TensorTypes infer_embedding(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 2, 2);
  require_index(node, inputs, 1);
  require_types(inputs[0].shape.rank() == 2, node, inputs, "the weight must be [rows, width]");
  const std::int64_t rows = node.as<EmbeddingAttrs>().rows;
  require_types(rows == inputs[0].shape[0], node, inputs, fmt::format("the weight must have {} rows", rows));
  Shape shape = inputs[1].shape;
  shape.append(inputs[0].shape.dim(1));
  return {with_shape(inputs[0], shape)};
}

void evaluate_embedding(EvalContext& context) {
  const Shape& weight = context.in_type(0).shape;
  const std::vector<std::int64_t> index = load_indices(context, 1, weight[0]);
  const std::size_t bytes = static_cast<std::size_t>(weight[1]) * element_size(context);
  const auto* const from = static_cast<const std::byte*>(context.in(0).data);
  auto* to = static_cast<std::byte*>(context.out().data);
  for (const std::int64_t row : index) {
    std::memcpy(to, from + static_cast<std::size_t>(row) * bytes, bytes);
    to += bytes;
  }
}

std::vector<ValueId> embedding_vjp(VjpContext& c) {
  if (!c.gy().valid() || !c.needs[0]) return {ValueId(), ValueId()};
  return {ops::embedding_backward(c.b, c.gy(), c.in(1), c.b.shape(c.in(0))[0], c.node.as<EmbeddingAttrs>().padding_index), ValueId()};
}

TensorTypes infer_embedding_backward(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 2, 2);
  require_floating(node, inputs, 1);
  require_index(node, inputs, 1);
  const Shape& g = inputs[0].shape;
  require_types(g.rank() >= 1 && without_last(g) == inputs[1].shape, node, inputs, "the cotangent must have the index's shape and a width");
  Shape shape{node.as<EmbeddingAttrs>().rows};
  shape.append(g.dim(g.rank() - 1));
  return {with_shape(inputs[0], shape)};
}

/// Per row of the vocabulary, tokens ascending, in float32 (float64); rounded once.
void evaluate_embedding_backward(EvalContext& context) {
  const auto& attrs = context.node().as<EmbeddingAttrs>();
  const auto width = static_cast<std::size_t>(context.in_type(0).shape.back());
  const std::vector<std::int64_t> index = load_indices(context, 1, attrs.rows);
  EvalContext::dispatch_float(context.in_type(0).dtype, [&](auto zero) {
    using C = decltype(zero);
    const std::vector<C> g = context.load<C>(0);
    std::vector<C> sums(static_cast<std::size_t>(attrs.rows) * width, C(0));
    for (std::size_t t = 0; t < index.size(); ++t) {
      if (attrs.padding_index == index[t]) continue;
      C* const row = sums.data() + static_cast<std::size_t>(index[t]) * width;
      for (std::size_t j = 0; j < width; ++j) row[j] += g[t * width + j];
    }
    context.store<C>(0, sums);
  });
}

std::vector<ValueId> embedding_backward_vjp(VjpContext& c) {
  if (!c.gy().valid() || !c.needs[0]) return {ValueId(), ValueId()};
  Builder& b = c.b;
  const auto padding = c.node.as<EmbeddingAttrs>().padding_index;
  ValueId g = ops::embedding(b, c.gy(), c.in(1));
  if (padding) {
    const ValueId index = c.in(1);
    const ValueId padded = ops::binary(b, op::eq, index, ops::full(b, b.shape(index), b.dtype(index), static_cast<double>(*padding)));
    g = ops::masked_fill(b, ops::unsqueeze(b, padded, {-1}), g, 0);
  }
  return {g, ValueId()};
}

// ---- one_hot -----------------------------------------------------------------------------------------------------

TensorTypes infer_one_hot(const Node& node, TypeSpan inputs) {
  require_count(node, inputs, 1, 1);
  require_index(node, inputs, 0);
  Shape shape = inputs[0].shape;
  shape.append(node.as<SizeAttrs>().size);
  return {with_shape(inputs[0], shape, DType::int64)};
}

void evaluate_one_hot(EvalContext& context) {
  const std::int64_t classes = context.node().as<SizeAttrs>().size;
  const std::vector<std::int64_t> index = load_indices(context, 0, classes);
  std::vector<std::int64_t> ones(index.size() * static_cast<std::size_t>(classes), 0);
  for (std::size_t i = 0; i < index.size(); ++i) ones[i * static_cast<std::size_t>(classes) + static_cast<std::size_t>(index[i])] = 1;
  context.store<std::int64_t>(0, ones);
}

}  // namespace

std::vector<OpRow> embedding_rows() {
  std::vector<OpRow> rows;
  OpRow embedding = moving_row(op::embedding, Trait::cheap, infer_embedding, embedding_vjp, evaluate_embedding, [] {
    return std::vector<OpSample>{{"plain", {numbers({5, 3}), indices({2, 4}, 4)}, EmbeddingAttrs{5, {}}, {}},
                                 {"scalar_index", {numbers({5, 3}), indices({}, 4)}, EmbeddingAttrs{5, {}}, {}}};
  });
  embedding.cost = gathering_cost;
  rows.push_back(std::move(embedding));
  rows.push_back(
      moving_row(op::embedding_backward, Trait::none, infer_embedding_backward, embedding_backward_vjp, evaluate_embedding_backward, [] {
        return std::vector<OpSample>{{"plain", {numbers({2, 4, 3}), indices({2, 4}, 4)}, EmbeddingAttrs{5, {}}, {}},
                                     {"padding", {numbers({6, 2}), indices({6}, 3)}, EmbeddingAttrs{4, 2}, {}},
                                     {"bfloat16", {numbers({6, 2}, DType::bfloat16), indices({6}, 3)}, EmbeddingAttrs{4, {}}, {}, false}};
      }));
  rows.push_back(moving_row(op::one_hot, Trait::cheap, infer_one_hot, {}, evaluate_one_hot, [] {
    return std::vector<OpSample>{{"plain", {indices({2, 3}, 4)}, SizeAttrs{5}, {}, false}};
  }));
  return rows;
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Nodes that carry their meaning as sub-traces: tiled regions and custom functions.
#include <fmt/format.h>

#include <cstring>

#include "base/error.h"
#include "ops/builders.h"
#include "ops/cost.h"
#include "ops/eval_context.h"
#include "ops/inline_body.h"
#include "ops/row_families.h"
#include "ops/row_parts.h"
#include "ops/strided_walk.h"

namespace reprise {
namespace {

/// Requires the inputs of `body` to have these types.
void require_body_inputs(const Node& node, TypeSpan inputs, const Trace& body, TypeSpan wanted) {
  require_types(body.inputs.size() == wanted.size(), node, inputs,
                fmt::format("the body {} takes {} inputs, not {}", body.name, body.inputs.size(), wanted.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const TensorType& own = body.type(body.inputs[i].value);
    require_types(own == wanted[i], node, inputs,
                  fmt::format("input {} of the body {} is {}, not {}", i, body.name, own.str(), wanted[i].str()));
  }
}

TensorTypes output_types(const Trace& body) {
  TensorTypes types;
  for (const ValueId output : body.outputs) types.push_back(body.type(output));
  return types;
}

// ---- custom_function ---------------------------------------------------------------------------------------------

TensorTypes infer_custom(const Node& node, TypeSpan inputs) {
  require_types(node.bodies.size() == 2, node, inputs, "needs two bodies: forward and backward");
  require_count(node, inputs, 0, inputs.size());
  const Trace& forward = node.bodies[0];
  const Trace& backward = node.bodies[1];
  require_body_inputs(node, inputs, forward, inputs);
  const TensorTypes outputs = output_types(forward);
  TensorTypes wanted(inputs.begin(), inputs.end());
  wanted.insert(wanted.end(), outputs.begin(), outputs.end());
  wanted.insert(wanted.end(), outputs.begin(), outputs.end());
  require_body_inputs(node, inputs, backward, wanted);
  require_types(
      backward.outputs.size() == inputs.size(), node, inputs,
      fmt::format("the backward body must give a cotangent for each of {} inputs, not {}", inputs.size(), backward.outputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    require_types(!is_floating(inputs[i].dtype) || backward.type(backward.outputs[i]) == inputs[i], node, inputs,
                  fmt::format("cotangent {} must have the type of its input", i));
  }
  return outputs;
}

std::vector<ValueId> custom_vjp(VjpContext& c) {
  std::vector<ValueId> arguments(c.node.inputs.begin(), c.node.inputs.end());
  arguments.insert(arguments.end(), c.node.outputs.begin(), c.node.outputs.end());
  for (std::size_t i = 0; i < c.node.outputs.size(); ++i) {
    arguments.push_back(c.gy(i).valid() ? c.gy(i) : ops::zeros_like(c.b, c.out(i)));
  }
  const Trace backward = c.node.bodies[1];  // a copy: the node may move while its trace grows
  std::vector<ValueId> gradients = inline_body(c.b, backward, arguments);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!c.needs[i]) gradients[i] = ValueId();
  }
  return gradients;
}

std::vector<ArrayRef> array_refs(const EvalContext& context, bool outputs) {
  std::vector<ArrayRef> refs;
  const std::size_t count = outputs ? context.node().outputs.size() : context.input_count();
  for (std::size_t i = 0; i < count; ++i) refs.push_back(outputs ? context.out(i) : context.in(i));
  return refs;
}

/// x -> x^2 with the derivative written out.
OpSample square_sample() {
  const TensorType type{DType::float32, Shape{2, 3}, Device::cpu};
  Trace forward;
  forward.name = "forward";
  {
    const ValueId x = forward.add_input(type, Role::batch, "x");
    Builder b(forward);
    forward.outputs = {ops::square(b, x)};
  }
  Trace backward;
  backward.name = "backward";
  {
    const ValueId x = backward.add_input(type, Role::batch, "x");
    backward.add_input(type, Role::batch, "y");
    const ValueId gy = backward.add_input(type, Role::batch, "gy");
    Builder b(backward);
    backward.outputs = {ops::mul(b, ops::mul_scalar(b, x, 2), gy)};
  }
  CustomAttrs attrs;
  attrs.name = "square";
  OpSample result = op_sample("square", {{type, -2, 2}}, attrs);
  result.bodies = {std::move(forward), std::move(backward)};
  return result;
}

// ---- tile --------------------------------------------------------------------------------------------------------

/// The type of one tile's share along dim; the whole where dim is -1.
TensorType share_type(const Node& node, TypeSpan inputs, const TensorType& whole, std::int64_t dim, std::int64_t tiles) {
  if (dim < 0) return whole;
  const auto d = static_cast<std::size_t>(dim);
  require_types(d < whole.shape.rank() && whole.shape[d] % tiles == 0, node, inputs,
                fmt::format("{} cannot be cut into {} equal tiles along dimension {}", whole.str(), tiles, dim));
  TensorType share = whole;
  share.shape.set_dim(d, Dim{whole.shape[d] / tiles, {}});
  return share;
}

TensorTypes infer_tile(const Node& node, TypeSpan inputs) {
  const auto& attrs = node.as<TileAttrs>();
  require_types(node.bodies.size() == 1, node, inputs, "needs one body");
  require_count(node, inputs, 0, inputs.size());
  const Trace& body = node.bodies[0];
  require_types(attrs.tiles >= 1 && attrs.input_dims.size() == inputs.size() && attrs.output_dims.size() == body.outputs.size(), node,
                inputs, "needs a tile at least, and a dimension or -1 for every input and output");
  TensorTypes shares;
  for (std::size_t i = 0; i < inputs.size(); ++i) shares.push_back(share_type(node, inputs, inputs[i], attrs.input_dims[i], attrs.tiles));
  require_body_inputs(node, inputs, body, shares);
  TensorTypes outputs = output_types(body);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::int64_t dim = attrs.output_dims[i];
    if (dim < 0) {
      require_types(outputs[i].dtype == DType::float32 || outputs[i].dtype == DType::float64, node, inputs,
                    fmt::format("only float32 and float64 tiles can be added up, not {}", outputs[i].str()));
      continue;
    }
    const auto d = static_cast<std::size_t>(dim);
    require_types(d < outputs[i].shape.rank(), node, inputs, fmt::format("output {} has no dimension {}", i, dim));
    outputs[i].shape.set_dim(d, Dim{outputs[i].shape[d] * attrs.tiles, {}});
  }
  return outputs;
}

/// Where tile number `tile` of a dense array lies.
std::vector<std::int64_t> share_offsets(const TensorType& whole, const TensorType& share, std::int64_t dim, std::int64_t tile) {
  Layout layout{0, whole.shape.dense_strides()};
  if (dim >= 0) layout.offset = tile * share.shape[static_cast<std::size_t>(dim)] * layout.strides[static_cast<std::size_t>(dim)];
  return offsets_of(share.shape, layout);
}

template <class C>
void add_elements(void* sum, const void* more, std::int64_t count) {
  auto* const to = static_cast<C*>(sum);
  const auto* const from = static_cast<const C*>(more);
  for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

/// Tiles in ascending order; joined outputs are placed, the others added up from the first tile on.
void evaluate_tile(EvalContext& context) {
  const auto& attrs = context.node().as<TileAttrs>();
  const Trace& body = context.node().bodies[0];
  for (std::int64_t tile = 0; tile < attrs.tiles; ++tile) {
    std::vector<std::vector<std::byte>> storage;
    storage.reserve(body.inputs.size() + body.outputs.size());
    const auto fresh = [&](const TensorType& type) {
      storage.emplace_back(static_cast<std::size_t>(type.bytes()));
      return ArrayRef{&type, storage.back().data()};
    };
    std::vector<ArrayRef> inputs;
    for (std::size_t i = 0; i < body.inputs.size(); ++i) {
      const ArrayRef share = fresh(body.type(body.inputs[i].value));
      copy_elements(share.data, context.in(i).data, share_offsets(context.in_type(i), *share.type, attrs.input_dims[i], tile),
                    dtype_size(share.type->dtype));
      inputs.push_back(share);
    }
    std::vector<ArrayRef> outputs;
    for (const ValueId output : body.outputs) outputs.push_back(fresh(body.type(output)));
    context.run_body(body, inputs, outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const TensorType& type = *outputs[i].type;
      if (attrs.output_dims[i] >= 0 || tile == 0) {
        copy_elements_into(context.out(i).data, share_offsets(context.out_type(i), type, attrs.output_dims[i], tile), outputs[i].data,
                           dtype_size(type.dtype));
      } else if (type.dtype == DType::float64) {
        add_elements<double>(context.out(i).data, outputs[i].data, type.shape.numel());
      } else {
        add_elements<float>(context.out(i).data, outputs[i].data, type.shape.numel());
      }
    }
  }
}

std::vector<ValueId> decompose_tile(Builder& b, const Node& node, std::span<const ValueId> inputs) {
  const auto attrs = node.as<TileAttrs>();
  const Trace& body = node.bodies[0];
  std::vector<std::vector<ValueId>> parts(body.outputs.size());
  for (std::int64_t tile = 0; tile < attrs.tiles; ++tile) {
    std::vector<ValueId> shares;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::int64_t dim = attrs.input_dims[i];
      const std::int64_t extent = dim < 0 ? 0 : b.shape(inputs[i])[static_cast<std::size_t>(dim)] / attrs.tiles;
      shares.push_back(dim < 0 ? inputs[i] : ops::slice(b, inputs[i], dim, tile * extent, (tile + 1) * extent));
    }
    const std::vector<ValueId> results = inline_body(b, body, shares);
    for (std::size_t i = 0; i < results.size(); ++i) parts[i].push_back(results[i]);
  }
  std::vector<ValueId> outputs;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (attrs.output_dims[i] >= 0) {
      outputs.push_back(ops::cat(b, parts[i], attrs.output_dims[i]));
      continue;
    }
    ValueId sum = parts[i].front();
    for (std::size_t t = 1; t < parts[i].size(); ++t) sum = ops::add(b, sum, parts[i][t]);
    outputs.push_back(sum);
  }
  return outputs;
}

/// Rows of x times w, and the sum over rows: one output joined, one added up.
OpSample tile_sample() {
  const TensorType rows{DType::float32, Shape{2, 3}, Device::cpu};
  const TensorType weight{DType::float32, Shape{3, 4}, Device::cpu};
  Trace body;
  body.name = "rows";
  const ValueId x = body.add_input(rows, Role::batch, "x");
  const ValueId w = body.add_input(weight, Role::batch, "w");
  Builder b(body);
  const ValueId y = ops::matmul(b, x, w);
  body.outputs = {y, ops::sum(b, y, Ints{0})};
  TileAttrs attrs;
  attrs.tiles = 3;
  attrs.input_dims = {0, -1};
  attrs.output_dims = {0, -1};
  OpSample result = op_sample("rows", {real_input(Shape{6, 3}), {weight, -2, 2}}, attrs);
  result.bodies = {std::move(body)};
  return result;
}

}  // namespace

std::vector<OpRow> region_rows() {
  OpRow tile;
  tile.opcode = op::tile;
  tile.traits = Trait::composite;
  tile.infer = infer_tile;
  // no vjp: a region that is differentiated is decomposed first, and tiled afterwards
  tile.decompose = decompose_tile;
  tile.evaluate = evaluate_tile;
  tile.cost = [](const Node& node, TypeSpan, TypeSpan) {
    const Cost one = trace_cost(node.bodies[0]);
    const auto tiles = static_cast<double>(node.as<TileAttrs>().tiles);
    return Cost{one.flops * tiles, one.bytes_read * tiles, one.bytes_written * tiles};
  };
  tile.samples = [] { return std::vector<OpSample>{tile_sample()}; };
  OpRow custom;
  custom.opcode = op::custom_function;
  custom.traits = Trait::composite;
  custom.infer = infer_custom;
  custom.vjp = custom_vjp;
  custom.decompose = [](Builder& b, const Node& node, std::span<const ValueId> inputs) { return inline_body(b, node.bodies[0], inputs); };
  custom.evaluate = [](EvalContext& context) {
    context.run_body(context.node().bodies[0], array_refs(context, false), array_refs(context, true));
  };
  custom.cost = [](const Node& node, TypeSpan, TypeSpan) { return trace_cost(node.bodies[0]); };
  custom.samples = [] { return std::vector<OpSample>{square_sample()}; };
  return {tile, custom};
}

}  // namespace reprise

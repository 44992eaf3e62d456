// SPDX-License-Identifier: Apache-2.0
// Attention, cross entropy and rotary embedding, with the model's tables, against PyTorch's values and gradients: as whole
// ops, and decomposed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "nn/rope.h"
#include "ops/op_table.h"
#include "reference/op_cases.h"
#include "support/reference_data.h"
#include "support/tolerance.h"

namespace reprise::test {
namespace {

/// The outputs of the node just emitted, computed by its decomposition instead.
Ids decomposed(Builder& b) {
  const Node node = b.trace().nodes.back();
  return op_row(node.opcode).decompose(b, node, node.inputs);
}

AttentionAttrs attention_attrs(const OpCases& cases, const std::string& name, std::int64_t width) {
  AttentionAttrs attrs;
  const auto number = [&](const char* key, double otherwise) {
    const Json* const found = cases.attribute(name, key);
    return found != nullptr ? found->number() : otherwise;
  };
  attrs.causal = cases.attribute(name, "causal") != nullptr;
  attrs.scale = number("scale", 1 / std::sqrt(static_cast<double>(width)));
  attrs.window = static_cast<std::int64_t>(number("window", 0));
  attrs.offset = static_cast<std::int64_t>(number("offset", 0));
  attrs.softcap = number("softcap", 0);
  return attrs;
}

TEST(ReferenceAttention, EveryCase) {
  REPRISE_NEEDS_REFERENCE("ops/sdpa.safetensors");
  for (const bool whole : {true, false}) {
    OpCases cases("sdpa");
    const auto function = [&](const std::string& name) -> CaseFunction {
      return [&cases, name, whole](Builder& b, const Ids& in) -> Ids {
        ops::AttentionInputs inputs;
        inputs.q = in[0];
        inputs.k = in[1];
        inputs.v = in[2];
        if (name.starts_with("bias")) inputs.bias = in[3];
        if (name.starts_with("mask")) inputs.mask = in[3];
        const ValueId out = ops::attention(b, inputs, attention_attrs(cases, name, b.shape(in[0]).back())).out;
        return {ops::permute(b, whole ? out : decomposed(b)[0], {0, 2, 1, 3})};  // the files have it by heads
      };
    };
    // scores up to thousands: the softmax is a choice, and its gradient is the difference of numbers times the scale
    cases.check("large_scores", function("large_scores"), {.length = 40000});
    cases.check_all("", function, {.length = 100});
    cases.expect_all_done();
  }
}

TEST(ReferenceAttention, DropoutOnTheProbabilities) {
  REPRISE_NEEDS_REFERENCE("ops/dropout_mask.safetensors");
  OpCases cases("dropout_mask");
  cases.check("in_attention", [&](Builder& b, const Ids& in) -> Ids {
    const std::int64_t tokens = b.shape(in[0])[2];
    const double p = cases.number("in_attention", "p");
    const ValueId scores =
        ops::mul_scalar(b, ops::matmul(b, in[0], in[1], false, true), 1 / std::sqrt(static_cast<double>(b.shape(in[0]).back())));
    const ValueId ones = ops::full(b, Shape{tokens, tokens}, DType::boolean, 1);
    const ValueId hidden = ops::triu(b, ones, 1);
    const ValueId probabilities = ops::softmax(b, ops::masked_fill(b, hidden, scores, -std::numeric_limits<double>::infinity()), -1);
    const ValueId scaled = ops::mul_scalar(b, probabilities, 1 / (1 - p));
    return {ops::matmul(b, ops::where(b, in[3], scaled, ops::zeros_like(b, scaled)), in[2])};
  }, {.length = 40});
}

// ---- cross entropy -----------------------------------------------------------------------------------------------

TEST(ReferenceCrossEntropy, EveryCase) {
  REPRISE_NEEDS_REFERENCE("ops/cross_entropy.safetensors");
  for (const bool whole : {true, false}) {
    OpCases cases("cross_entropy");
    cases.check_all("", [&](const std::string& name) -> CaseFunction {
      return [&cases, name, whole](Builder& b, const Ids& in) -> Ids {
        const auto number = [&](const char* key, double otherwise) {
          const Json* const found = cases.attribute(name, key);
          return found != nullptr ? found->number() : otherwise;
        };
        CrossEntropyAttrs attrs;
        attrs.label_smoothing = number("label_smoothing", 0);
        attrs.z_loss = number("z_loss", 0);
        attrs.ignore_index = static_cast<std::int64_t>(number("ignore_index", -100));
        const std::int64_t classes = b.shape(in[0]).back();
        const ValueId logits = ops::reshape(b, in[0], Shape{b.shape(in[0]).numel() / classes, classes});
        const ValueId target = ops::reshape(b, in[1], Shape{b.shape(in[1]).numel()});
        const ValueId weight = in.size() > 2 ? in[2] : ValueId();
        ValueId loss = ops::cross_entropy(b, logits, target, attrs, weight).loss;
        if (!whole) loss = decomposed(b)[0];
        const std::string reduction = cases.attribute(name, "reduction")->string();
        if (reduction == "none") return {ops::reshape(b, loss, b.shape(in[1]))};
        const ValueId total = ops::sum(b, loss);
        if (reduction == "sum") return {total};
        const ValueId ignore = ops::full(b, b.shape(target), DType::int64, static_cast<double>(attrs.ignore_index));
        const ValueId ignored = ops::binary(b, op::eq, target, ignore);
        ValueId counted = ops::full(b, b.shape(target), b.dtype(loss), 1);
        if (weight.valid()) counted = ops::index_select(b, weight, 0, ops::masked_fill(b, ignored, target, 0));
        return {ops::div(b, total, ops::sum(b, ops::masked_fill(b, ignored, counted, 0)))};
      };
    }, {.length = 200});
    cases.expect_all_done();
  }
}

// ---- rope --------------------------------------------------------------------------------------------------------

/// A constant of these numbers.
ValueId constant(Builder& b, const Shape& shape, DType dtype, const std::vector<double>& numbers) {
  std::vector<ValueId> parts;
  for (const double number : numbers) parts.push_back(ops::full(b, Shape{1}, dtype, number));
  return ops::reshape(b, ops::cat(b, std::move(parts), 0), shape);
}

/// A model whose heads turn as the case says, by the formula that its note names.
GptConfig rope_config(const OpCases& cases, const std::string& name, std::int64_t head_size) {
  const auto number = [&](const char* key, double otherwise) {
    const Json* const found = cases.attribute(name, key);
    return found != nullptr ? found->number() : otherwise;
  };
  GptConfig config;
  config.head_size = head_size;
  config.rotary_percentage = number("n_elem", static_cast<double>(head_size)) / static_cast<double>(head_size);
  config.rope_base = number("base", 10000);
  RopeScaling& scaling = config.rope_scaling;
  scaling.factor = number("factor", 1);
  scaling.original_max_seq_len = static_cast<std::int64_t>(number("original_max_seq_len", 1));
  scaling.low_freq_factor = number("low_freq_factor", 1);
  scaling.high_freq_factor = number("high_freq_factor", 4);
  scaling.beta_fast = number("beta_fast", 32);
  scaling.beta_slow = number("beta_slow", 1);
  if (name == "linear") scaling.kind = RopeScaling::Kind::linear;
  if (name == "llama3") scaling.kind = RopeScaling::Kind::llama3;
  if (name == "yarn_paper") scaling.kind = RopeScaling::Kind::yarn;
  if (name == "yarn_litgpt") scaling.kind = RopeScaling::Kind::yarn_litgpt;
  if (name.starts_with("longrope")) {
    scaling.kind = RopeScaling::Kind::longrope;
    scaling.factor = number("max_seq_len", 1) / number("original_max_seq_len", 1);
    scaling.short_factor = scaling.long_factor = cases.tensor(name, "in.factors").numbers();
  }
  return config;
}

TEST(ReferenceRope, EveryCase) {
  REPRISE_NEEDS_REFERENCE("ops/rope.safetensors");
  for (const bool whole : {true, false}) {
    OpCases cases("rope");
    cases.check_all("", [&](const std::string& name) -> CaseFunction {
      return [&cases, name, whole](Builder& b, const Ids& in) -> Ids {
        const Shape shape = b.shape(in[0]);
        const GptConfig config = rope_config(cases, name, shape.back());
        const std::int64_t n = config.rope_n_elem();
        RopeTables tables = rope_tables(config, shape[2]);
        const double factor = cases.attribute(name, "attention_factor") != nullptr ? cases.number(name, "attention_factor") : 1;
        EXPECT_NEAR(rope_attention_factor(config.rope_scaling), factor, tolerance(DType::float64)) << name;
        if (name == "positions") {  // rows of a longer table
          const std::vector<double> rows = cases.tensor(name, "in.pos").numbers();
          const RopeTables all = rope_tables(config, static_cast<std::int64_t>(*std::max_element(rows.begin(), rows.end())) + 1);
          tables.cos.clear();
          tables.sin.clear();
          for (const double row : rows) {
            const auto first = static_cast<std::ptrdiff_t>(row) * n;
            tables.cos.insert(tables.cos.end(), all.cos.begin() + first, all.cos.begin() + first + n);
            tables.sin.insert(tables.sin.end(), all.sin.begin() + first, all.sin.begin() + first + n);
          }
        }
        const Shape table{shape[2], n};
        const std::string layout = cases.attribute(name, "layout")->string();
        const RopeLayout which = layout == "half"          ? RopeLayout::half
                                 : layout == "interleaved" ? RopeLayout::interleaved
                                                           : RopeLayout::gathered;
        const ValueId cos = constant(b, table, b.dtype(in[0]), tables.cos);
        const ValueId sin = constant(b, table, b.dtype(in[0]), tables.sin);
        const ValueId y = ops::rope(b, in[0], cos, sin, which);
        return {whole ? y : decomposed(b)[0]};
      };
    }, {.length = 16});
    cases.expect_all_done();
  }
}

}  // namespace
}  // namespace reprise::test

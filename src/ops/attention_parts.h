// SPDX-License-Identifier: Apache-2.0
// What the three files of attention share: where the optional inputs stand, and the columns defined apart.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "ops/builder.h"
#include "ops/eval_context.h"

namespace reprise {

/// Places of the optional inputs among a node's inputs, and one past the last input.
struct AttentionPlaces {
  std::optional<std::size_t> bias, mask, segments, seed, offset;
  std::size_t end = 0;
};

/// `first`: number of required inputs. With dropout, seed and offset are absent until the rng pass has named the draw.
AttentionPlaces attention_places(const Node& node, std::size_t input_count, std::size_t first);

std::vector<ValueId> decompose_attention(Builder& b, const Node& node, std::span<const ValueId> inputs);
std::vector<ValueId> decompose_attention_backward(Builder& b, const Node& node, std::span<const ValueId> inputs);
/// Cotangents (gq, gk, nothing, gbias?) of a forward node's inputs that come through its log-sum-exp.
std::vector<ValueId> attention_lse_backward(Builder& b, const Node& node, ValueId lse, ValueId glse);
void evaluate_attention(EvalContext& context);
void evaluate_attention_backward(EvalContext& context);

}  // namespace reprise

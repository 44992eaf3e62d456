// SPDX-License-Identifier: Apache-2.0
#include "passes/rng.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ir/printer.h"
#include "ops/builders.h"
#include "ops/op_table.h"
#include "passes/rewrite.h"

namespace reprise {
namespace {

bool draws(const Node& node) { return has_trait(op_row(node.opcode).traits, Trait::random); }

/// Whether the node is an attention that drops probabilities and has no seed and offset yet.
bool attention_draws(const Node& node) {
  if (node.opcode != op::attention) return false;
  const auto& attrs = node.as<AttentionAttrs>();
  const std::size_t without_stream = 3u + (attrs.has_bias ? 1u : 0u) + (attrs.has_mask ? 1u : 0u) + (attrs.has_segments ? 1u : 0u);
  return attrs.dropout > 0 && node.inputs.size() == without_stream;
}

void require_no_draws(const Trace& body) {
  for (const Node& node : body.nodes) {
    if (draws(node) || attention_draws(node)) {
      throw UserError(fmt::format("a sub-trace cannot draw from the generator; draw outside and pass the numbers in: {}",
                                  print_node(body, NodeId(static_cast<std::size_t>(&node - body.nodes.data())))));
    }
    for (const Trace& inner : node.bodies) require_no_draws(inner);
  }
}

class DrawNumbering {
 public:
  explicit DrawNumbering(const Trace& trace) : rewriter_(trace) {}

  NumberedDraws run() {
    const Trace& from = rewriter_.from();
    if (std::any_of(from.nodes.begin(), from.nodes.end(), [](const Node& node) { return draws(node) || attention_draws(node); })) {
      seed_ = stream_input(kSeedInput);
      offset_ = stream_input(kOffsetInput);
    }
    for (const Node& node : from.nodes) {
      for (const Trace& body : node.bodies) require_no_draws(body);
      rewriter_.at(node);
      if (attention_draws(node)) {
        attention(node);
      } else if (draws(node)) {
        const std::size_t fresh = rewriter_.to().values.size();
        rewriter_.stand_in(node, draw(node, rewriter_.map_all(node.inputs)), fresh);
      } else {
        rewriter_.copy(node);
      }
    }
    return {rewriter_.finish(), words_};
  }

 private:
  ValueId stream_input(std::string_view name) {
    Trace& to = rewriter_.to();
    const auto found = std::find_if(to.inputs.begin(), to.inputs.end(), [&](const TraceInput& input) {
      return input.role == Role::rng && to[input.value].name == name;
    });
    return found != to.inputs.end() ? found->value : to.add_input({DType::int64, Shape{}, Device::cpu}, Role::rng, name);
  }

  /// Numbers the next `count` words; returns the first.
  std::int64_t take(std::int64_t count) {
    const std::int64_t first = words_;
    words_ += (count + 3) / 4 * 4;
    return first;
  }

  /// Emits the philox form of a node on new inputs.
  std::vector<ValueId> draw(const Node& node, const std::vector<ValueId>& inputs) {
    Builder& b = rewriter_.builder();
    if (node.opcode == op::uniform || node.opcode == op::normal) {
      const auto& attrs = node.as<ShapeAttrs>();
      const PhiloxAttrs philox{attrs.shape, attrs.dtype, take(attrs.shape.numel()), 0};
      return {node.opcode == op::uniform ? ops::philox_uniform(b, seed_, offset_, philox) : ops::philox_normal(b, seed_, offset_, philox)};
    }
    if (node.opcode == op::dropout) {
      const std::int64_t first = take(b.shape(inputs.at(0)).numel());
      return {ops::philox_dropout(b, inputs[0], seed_, offset_, node.as<DropoutAttrs>().p, first)};
    }
    return decomposed(node, inputs);
  }

  /// A user op that draws: its decomposition's draws are numbered one by one.
  std::vector<ValueId> decomposed(const Node& node, const std::vector<ValueId>& inputs) {
    const OpRow& row = op_row(node.opcode);
    if (!row.decompose) {
      throw UserError(fmt::format("op '{}' draws from the generator and has no decomposition into draws that can be numbered; give it one, "
                                  "or take the numbers as an input",
                                  opcode_name(node.opcode)));
    }
    Trace simpler;
    std::vector<ValueId> arguments;
    for (const ValueId input : inputs) arguments.push_back(simpler.add_input(rewriter_.to().type(input), Role::batch, "x"));
    Builder inner(simpler);
    inner.context = rewriter_.builder().context;
    const std::vector<ValueId> results = row.decompose(inner, node, arguments);
    std::vector<ValueId> to_new(simpler.values.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) to_new[arguments[i].index()] = inputs[i];
    const auto map = [&](const std::vector<ValueId>& ids) {
      std::vector<ValueId> mapped;
      for (const ValueId id : ids) mapped.push_back(to_new[id.index()]);
      return mapped;
    };
    for (const Node& part : simpler.nodes) {
      const std::vector<ValueId> made = draws(part) ? draw(part, map(part.inputs)) : rewriter_.builder().emit_like(part, map(part.inputs));
      for (std::size_t i = 0; i < made.size(); ++i) to_new[part.outputs[i].index()] = made[i];
    }
    return map(results);
  }

  void attention(const Node& node) {
    Node changed = node;
    changed.inputs = rewriter_.map_all(node.inputs);
    const Shape& q = rewriter_.to().type(changed.inputs[0]).shape;  // [B, H, Tq, D]
    const Shape& k = rewriter_.to().type(changed.inputs[1]).shape;  // [B, Hkv, Tk, D]
    auto attrs = node.as<AttentionAttrs>();
    attrs.draw = take(q[0] * q[1] * q[2] * k[2]);
    changed.attrs = attrs;
    changed.inputs.push_back(seed_);
    changed.inputs.push_back(offset_);
    rewriter_.copy_changed(node, std::move(changed));
  }

  Rewriter rewriter_;
  ValueId seed_;
  ValueId offset_;
  std::int64_t words_ = 0;
};

}  // namespace

NumberedDraws number_draws(const Trace& trace) { return DrawNumbering(trace).run(); }

}  // namespace reprise

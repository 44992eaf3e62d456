// SPDX-License-Identifier: Apache-2.0
// The row of an op: all that the compiler knows of it. Rows are filled in family files (pointwise_rows.cpp, ...) and
// gathered by op_table.cpp.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/trace.h"

namespace reprise {

class Builder;
class EvalContext;

/// Traits are a bit set.
enum class Trait : std::uint32_t {
  none = 0,
  pointwise = 1u << 0,        // every output element depends on the input elements at its own (broadcast) place
  reduction = 1u << 1,
  view = 1u << 2,             // may share its first input's storage; the `layout` column says how
  matmul = 1u << 3,
  random = 1u << 4,           // advances the generator state
  collective = 1u << 5,
  effect = 1u << 6,           // must run exactly once although nothing reads its result
  in_place_twin = 1u << 7,    // `name_` exists: output 0 has the type of input 0
  never_recompute = 1u << 8,
  cheap = 1u << 9,            // costs about what reading its inputs costs
  composite = 1u << 10,       // has a decomposition that an executor may prefer to the whole
};
constexpr Trait operator|(Trait a, Trait b) {
  return static_cast<Trait>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
constexpr bool has_trait(Trait set, Trait wanted) {
  return (static_cast<std::uint32_t>(set) & static_cast<std::uint32_t>(wanted)) != 0;
}

/// Where a value lies in its owner's storage: offset and strides in elements.
struct Layout {
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// Floating-point operations and bytes moved by one run of a node.
struct Cost {
  double flops = 0;
  double bytes_read = 0;
  double bytes_written = 0;
};

/// What a vjp formula sees. It emits backward nodes through `b` and returns one cotangent per input; an invalid id
/// means zero. `node` is the node being differentiated; its ids are values of the builder's trace.
struct VjpContext {
  Builder& b;
  const Node& node;
  std::span<const ValueId> cotangents;  // one per output; invalid where nothing flows back
  std::span<const bool> needs;          // one per input: is its cotangent wanted?

  ValueId in(std::size_t i) const { return node.inputs[i]; }
  ValueId out(std::size_t i = 0) const { return node.outputs[i]; }
  ValueId gy(std::size_t i = 0) const { return cotangents[i]; }
};

/// How a sample's input is filled: uniform numbers in [low, high], or integers in [low, high].
struct SampleInput {
  TensorType type;
  double low = -2;
  double high = 2;
};

/// One use of an op, from which correctness, gradient and completeness tests are made.
struct OpSample {
  std::string name;
  std::vector<SampleInput> inputs;
  Attrs attrs;
  std::vector<Trace> bodies;
  bool differentiable = true;  // check the vjp of the floating inputs against finite differences
};

struct OpRow {
  Opcode opcode;
  Trait traits = Trait::none;
  /// Output types; UserError naming the op and the types when the inputs do not fit.
  std::function<std::vector<TensorType>(const Node& node, std::span<const TensorType> inputs)> infer;
  /// Empty: the op has no derivative (its inputs get none).
  std::function<std::vector<ValueId>(VjpContext& context)> vjp;
  /// Emits the same meaning in simpler ops; returns one value per output. Empty: primitive.
  std::function<std::vector<ValueId>(Builder& b, const Node& node, std::span<const ValueId> inputs)> decompose;
  /// Reference implementation, by the numeric contract in float32 and in float64.
  std::function<void(EvalContext& context)> evaluate;
  /// May be left empty where there is a decomposition: it then follows from the parts (see node_cost).
  std::function<Cost(const Node& node, std::span<const TensorType> inputs, std::span<const TensorType> outputs)> cost;
  /// Views: the output's layout from the first input's; nothing when the storage cannot be shared.
  std::function<std::optional<Layout>(const Node& node, const TensorType& input, const Layout& layout)> layout;
  std::function<std::vector<OpSample>()> samples;
  /// Bytes of scratch that `evaluate` of a user op is given, 64-byte aligned, contents undefined. Empty: none.
  std::function<std::int64_t(const Node& node, std::span<const TensorType> inputs, std::span<const TensorType> outputs)> workspace = {};
};

}  // namespace reprise

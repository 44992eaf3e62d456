// SPDX-License-Identifier: Apache-2.0
// The trace: an SSA list of nodes in execution order. Every compiler stage reads one and writes a new one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/interned.h"
#include "ir/attrs.h"
#include "ir/fwd.h"
#include "ir/name_table.h"
#include "ir/opcode.h"
#include "ir/shape.h"

namespace reprise {

/// What is wanted of a value across forward and backward.
enum class TagKind : std::uint8_t { must_save, prefer_save, prefer_recompute, must_recompute, offload };

/// A wish and who has it: "user", "autograd", a policy or a region.
struct Tag {
  TagKind kind = TagKind::must_save;
  Interned source;
  friend bool operator==(const Tag&, const Tag&) = default;
};

/// Which part of the step a node belongs to.
enum class Phase : std::uint8_t { forward, backward, recompute, update };

/// What an input is: trained, kept between steps, fresh every step, a number, or generator state.
enum class Role : std::uint8_t { param, state, batch, scalar, rng };

struct Value {
  TensorType type;
  std::string name;          // unique in its trace
  std::vector<Tag> tags;
  NodeId producer;           // invalid for a trace input
  std::uint32_t output = 0;  // which output of its producer, or which input of the trace
  friend bool operator==(const Value&, const Value&) = default;
};

/// Line of model code that made a node.
struct SourceLocation {
  Interned file;
  std::uint32_t line = 0;
  friend bool operator==(const SourceLocation&, const SourceLocation&) = default;
};

struct Node {
  Opcode opcode;
  bool in_place = false;  // the twin `name_`: writes its first output into its first input's storage
  Phase phase = Phase::forward;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attrs attrs;
  std::vector<Trace> bodies;  // sub-traces; closed: everything captured is an input of this node
  Interned module;            // "transformer.h.3.mlp.fc"
  Interned region;            // checkpoint regions, outermost first: "block3/attn"
  Interned executor;          // who claimed it; empty before the claim
  SourceLocation source;

  /// The attributes as the family `T`; throws when they are of another.
  template <class T>
  const T& as() const {
    return std::get<T>(attrs);
  }
  friend bool operator==(const Node& a, const Node& b);
};

struct TraceInput {
  ValueId value;
  Role role = Role::batch;
  friend bool operator==(const TraceInput&, const TraceInput&) = default;
};

/// Output `output` may take the storage of input `input` after that input's last reader. Indices into inputs, outputs.
struct Donation {
  std::uint32_t input = 0;
  std::uint32_t output = 0;
  friend bool operator==(const Donation&, const Donation&) = default;
};

struct Trace {
  std::string name = "trace";
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<TraceInput> inputs;
  std::vector<ValueId> outputs;
  std::vector<Donation> donations;

  const Value& operator[](ValueId id) const { return values[id.index()]; }
  Value& operator[](ValueId id) { return values[id.index()]; }
  const Node& operator[](NodeId id) const { return nodes[id.index()]; }
  Node& operator[](NodeId id) { return nodes[id.index()]; }
  const TensorType& type(ValueId id) const { return values[id.index()].type; }

  /// Adds an input named after `hint`, made unique.
  ValueId add_input(TensorType type, Role role, std::string_view hint);
  /// Appends a node; its `outputs` are replaced by new values of these types, named after `hint`. Returns its id.
  NodeId add_node(Node node, std::span<const TensorType> types, std::string_view hint);
  /// Returns `hint`, or `hint.2`, `hint.3`, ...: the first never used in this trace, and marks it used.
  std::string unique_name(std::string_view hint);
  /// Marks a name as used; for parsers and copying passes, which set names themselves.
  void reserve_name(std::string_view name);
  /// Makes room for this many names.
  void reserve_names(std::size_t count) { names_.reserve(count); }
  /// All but values and nodes, for passes that move those one by one: name, used names, donations, and inputs and outputs with the
  /// ids that they have here.
  Trace frame() const;
  /// The value called `name`, or an invalid id. Linear.
  ValueId find(std::string_view name) const;

  /// Equal in everything that the text form shows.
  friend bool operator==(const Trace& a, const Trace& b);

 private:
  NameTable names_;  // with the last suffix tried
};

std::string_view phase_name(Phase phase);
std::string_view role_name(Role role);
std::string_view tag_name(TagKind kind);

/// Returns default attributes of the family that `opcode` takes: CustomAttrs for user ops.
const Attrs& default_attrs(Opcode opcode);

/// Readers of every value: by value index, the nodes that read it (each once) in execution order.
std::vector<std::vector<NodeId>> value_readers(const Trace& trace);

}  // namespace reprise

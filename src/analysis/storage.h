// SPDX-License-Identifier: Apache-2.0
// Where values lie: every value is placed in the storage of an owner, itself or the value it is a view of, and every
// storage lives from the node that writes it to the last node that reads any view of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/trace.h"
#include "ops/row.h"

namespace reprise {

/// A value's place: the owner of the storage, and offset and strides in elements of it.
struct Place {
  ValueId owner;
  Layout layout;
  friend bool operator==(const Place&, const Place&) = default;
};

/// Returns the dense place of a value that owns its storage.
Place own_place(const Trace& trace, ValueId value);

/// Returns the place of a view node's output when it can share its first input's storage, which lies at `input`.
std::optional<Place> view_place(const Trace& trace, const Node& node, const Place& input);

/// Place of every value of a trace. A view shares wherever its layout can be expressed; bodies are not entered.
class StorageMap {
 public:
  explicit StorageMap(const Trace& trace);

  const Place& operator[](ValueId value) const { return places_[value.index()]; }
  ValueId owner(ValueId value) const { return places_[value.index()].owner; }
  bool owns(ValueId value) const { return owner(value) == value; }
  /// Whether the node computes nothing: a view whose output shares its input's storage.
  bool shares(const Node& node) const { return !node.outputs.empty() && !owns(node.outputs[0]); }

 private:
  std::vector<Place> places_;
};

/// The life of one storage. Positions are node indices; -1: written before the first node, node count: read after the last.
struct Lifetime {
  ValueId owner;
  std::int64_t bytes = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;  // inclusive
  friend bool operator==(const Lifetime&, const Lifetime&) = default;
};

/// Returns the lifetime of every storage, in order of owner. A storage nobody reads lives while it is written.
std::vector<Lifetime> storage_lifetimes(const Trace& trace, const StorageMap& storage);

}  // namespace reprise

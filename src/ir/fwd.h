// SPDX-License-Identifier: Apache-2.0
// Forward declarations of the trace types.
#pragma once

#include "base/strong_id.h"

namespace reprise {

struct ValueIdTag;
struct NodeIdTag;
/// Index of a value in its trace.
using ValueId = StrongId<ValueIdTag>;
/// Index of a node in its trace: its place in execution order.
using NodeId = StrongId<NodeIdTag>;

struct Dim;
class Shape;
struct TensorType;
struct Value;
struct Node;
struct Trace;

}  // namespace reprise

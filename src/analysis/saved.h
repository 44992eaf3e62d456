// SPDX-License-Identifier: Apache-2.0
// The saved-for-backward report: what forward leaves in memory for backward to read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/trace.h"

namespace reprise {

/// One storage that a forward node wrote and a backward node reads, itself or through a view.
struct SavedValue {
  std::string name;    // of the storage's owner
  TensorType type;
  std::int64_t bytes = 0;
  std::string op;      // that made it
  std::string module;
  std::vector<std::string> readers;  // first outputs of the backward nodes, in order
};

struct SavedReport {
  std::vector<SavedValue> values;  // in order of the forward pass
  std::int64_t bytes = 0;

  /// A table: bytes, type, name, where it is made, who reads it.
  std::string str() const;
};

/// Reports on a joint, step or claimed trace. Trace inputs (parameters, states, batch) are not counted: they are there anyway.
SavedReport saved_for_backward(const Trace& trace);

}  // namespace reprise

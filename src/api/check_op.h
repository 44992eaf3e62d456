// SPDX-License-Identifier: Apache-2.0
// Checks an op from samples of its use: the test that every op, built in or a user's, must pass.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ops/row.h"

namespace reprise::test {

/// What was found, one text each, naming sample, output and element; none: the op passes.
struct OpCheck {
  std::size_t samples = 0;
  std::vector<std::string> problems;

  bool passed() const { return problems.empty(); }
  /// All problems, one a line.
  std::string str() const;
};

/// Checks `opcode` on `samples`, or on those of its row. On every sample:
/// - `infer` takes the inputs, and the trace of the op verifies, prints and reads back equal;
/// - `evaluate` fills every element of the outputs that `infer` says, no byte beside them or its workspace, equal bits each time;
/// - `decompose` makes the types that `infer` says, and in float64 the numbers that `evaluate` gives;
/// - the gradient, by `vjp` or through `decompose`, is that of five-point differences in float64, for floating inputs of samples that
///   are differentiable; inputs should lie away from kinks;
/// - the compiled op gives the bits of the interpreter, and `cost` is not negative.
/// Numbers are compared within base/tolerance.h. An op of no samples does not pass.
OpCheck check_op(Opcode opcode, const std::vector<OpSample>& samples);
OpCheck check_op(Opcode opcode);
/// The same by name; UserError when there is no such op.
OpCheck check_op(std::string_view name);

}  // namespace reprise::test

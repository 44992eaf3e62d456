// SPDX-License-Identifier: Apache-2.0
// The op table: one row per opcode. Built-in rows are gathered once; users register more.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "ops/row.h"

namespace reprise {

constexpr bool is_user_op(Opcode opcode) { return opcode.index >= kBuiltinOpcodeCount; }

/// Returns the row of `opcode`; InternalError when it has none.
const OpRow& op_row(Opcode opcode);
/// Adds a user op's row under `name` and returns its opcode, which is set in the row. Needed are `infer`, and `decompose` (vjp,
/// kernel and cost follow from it) or, for an opaque op, `evaluate` and `cost`. UserError when the name is taken, a needed column
/// is empty, or columns contradict each other. Thread safe.
Opcode register_op(std::string_view name, OpRow row);
/// The ops that `call` registers, in order; not those that other threads register meanwhile.
std::vector<Opcode> ops_registered_by(const std::function<void()>& call);
/// What a column of an op does wrong: UserError where the op is a user's, InternalError where it is one of ours. "the op 'x' WHAT".
[[noreturn]] void fail_op(Opcode opcode, std::string_view what);
/// Whether nodes of the op run as their decomposition: user ops that have one. An `evaluate` beside it is what the decomposition
/// is checked against.
bool compiled_as_parts(const OpRow& row);

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// The op table takes ops of users: what a row must have, and that every opcode finds its own.
#include "ops/op_table.h"

#include <gtest/gtest.h>

#include "ops/eval_context.h"
#include "support/expect_error.h"

namespace reprise {
namespace {

OpRow identity_row() {
  OpRow row;
  row.infer = [](const Node&, std::span<const TensorType> inputs) { return std::vector(inputs.begin(), inputs.end()); };
  row.evaluate = [](EvalContext&) {};
  return row;
}

TEST(OpTable, RefusesRowsOfUsersThatSayTooLittle) {
  OpRow row = identity_row();
  row.infer = nullptr;
  EXPECT_USER_ERROR(register_op("op_table_test_untyped", row), "a user op needs `infer`: op_table_test_untyped");
  row = identity_row();
  row.evaluate = nullptr;
  EXPECT_USER_ERROR(register_op("op_table_test_empty", row), "a user op needs `decompose`, or `evaluate` where it is opaque: op_table_test_empty");
}

TEST(OpTable, RefusesNamesThatAreTakenOrIllFormed) {
  EXPECT_USER_ERROR(register_op("matmul", identity_row()), "an op of this name exists already, choose another: 'matmul'");
  for (const char* const name : {"", "Upper", "1st", "trailing_", "with space"}) {
    EXPECT_USER_ERROR(register_op(name, identity_row()), "an op's name is snake_case, starts with a letter and does not end in '_'");
  }
}

TEST(OpTable, FindsTheRowOfEveryOpcode) {
  const Opcode bare = register_opcode("op_table_test_bare");  // a name without a row
  OpRow row = identity_row();
  row.traits = Trait::effect;
  const Opcode first = register_op("op_table_test_first", row);
  row.traits = Trait::never_recompute;
  const Opcode second = register_op("op_table_test_second", row);
  EXPECT_INTERNAL_ERROR(op_row(bare), "op op_table_test_bare has no row");
  EXPECT_EQ(op_row(first).opcode, first);
  EXPECT_EQ(op_row(first).traits, Trait::effect);
  EXPECT_EQ(op_row(second).opcode, second);
  EXPECT_EQ(op_row(second).traits, Trait::never_recompute);
}

}  // namespace
}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// The op table takes ops of users: what a row must have, and that every opcode finds its own.
#include "ops/op_table.h"

#include <gtest/gtest.h>

#include "ops/builders.h"
#include "ops/cost.h"
#include "ops/custom_field.h"
#include "ops/eval_context.h"
#include "ops/type_check.h"
#include "support/expect_error.h"

namespace reprise {
namespace {

OpRow identity_row() {
  OpRow row;
  row.infer = [](const Node&, std::span<const TensorType> inputs) { return std::vector(inputs.begin(), inputs.end()); };
  row.evaluate = [](EvalContext&) {};
  row.cost = [](const Node&, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
    return streaming_cost(inputs, outputs);
  };
  return row;
}

Node node_with(CustomFields fields) {
  Node node;
  node.opcode = *find_opcode("op_table_test_fields");
  node.attrs = CustomAttrs{"", std::move(fields)};
  return node;
}

TEST(OpTable, RefusesRowsOfUsersThatSayTooLittle) {
  OpRow row = identity_row();
  row.infer = nullptr;
  EXPECT_USER_ERROR(register_op("op_table_test_untyped", row), "a user op needs `infer`: op_table_test_untyped");
  row = identity_row();
  row.evaluate = nullptr;
  EXPECT_USER_ERROR(register_op("op_table_test_empty", row),
                    "a user op needs `decompose`, or `evaluate` where it is opaque: op_table_test_empty");
  row = identity_row();
  row.cost = nullptr;
  EXPECT_USER_ERROR(register_op("op_table_test_free", row), "an opaque user op needs `cost`: op_table_test_free");
  row = identity_row();
  row.decompose = [](Builder&, const Node&, std::span<const ValueId> inputs) { return std::vector(inputs.begin(), inputs.end()); };
  row.workspace = [](const Node&, std::span<const TensorType>, std::span<const TensorType>) { return std::int64_t{8}; };
  EXPECT_USER_ERROR(register_op("op_table_test_scratch", row), "only an opaque user op takes a workspace");
  row = identity_row();
  row.traits = Trait::view;
  EXPECT_USER_ERROR(register_op("op_table_test_view", row), "has the trait `view` and a `layout`");
}

TEST(OpTable, FieldsOfUserOpsAreReadByNameAndKind) {
  register_opcode("op_table_test_fields");
  const Node node = node_with({{"rate", 0.5}, {"count", 3}, {"label", "a"}, {"dims", Ints{1, 2}}, {"on", true}});
  EXPECT_EQ(custom_field<double>(node, "rate"), 0.5);
  EXPECT_EQ(custom_field<double>(node, "count"), 3.0);  // a whole number is a number
  EXPECT_EQ(custom_field<std::int64_t>(node, "count"), 3);
  EXPECT_EQ(custom_field<std::string>(node, "label"), "a");
  EXPECT_EQ(custom_field<Ints>(node, "dims"), (Ints{1, 2}));
  EXPECT_TRUE(custom_field<bool>(node, "on"));
  EXPECT_EQ(custom_field<double>(node, "shift", 2.0), 2.0);
  EXPECT_USER_ERROR(custom_field<double>(node, "shift"), "op_table_test_fields: needs the field 'shift', a number");
  EXPECT_USER_ERROR(custom_field<std::int64_t>(node, "rate"), "op_table_test_fields: field 'rate' must be an integer");
  EXPECT_USER_ERROR(custom_field<bool>(node, "count", false), "op_table_test_fields: field 'count' must be true or false");
  EXPECT_USER_ERROR(require_known_fields(node, {"rate", "counts", "label", "dims", "on"}),
                    "op_table_test_fields: there is no field 'count'; did you mean \"counts\"?");
  EXPECT_NO_THROW(require_known_fields(node, {"rate", "count", "label", "dims", "on"}));
}

TEST(OpTable, CostFollowsFromTheParts) {
  OpRow row;
  row.infer = identity_row().infer;
  row.decompose = [](Builder& b, const Node&, std::span<const ValueId> inputs) { return std::vector{ops::neg(b, ops::exp(b, inputs[0]))}; };
  Node node;
  node.opcode = register_op("op_table_test_parts", row);
  node.attrs = CustomAttrs{};
  const std::vector<TensorType> type = {{DType::float32, {2, 3}}};
  const Cost whole = node_cost(node, type, type);
  Node part;
  part.opcode = op::exp;
  Cost parts = node_cost(part, type, type);
  part.opcode = op::neg;
  const Cost neg = node_cost(part, type, type);
  EXPECT_GT(neg.flops, 0);
  EXPECT_EQ(whole.flops, parts.flops + neg.flops);
  EXPECT_EQ(whole.bytes_read, 48);
  EXPECT_EQ(whole.bytes_written, 48);
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

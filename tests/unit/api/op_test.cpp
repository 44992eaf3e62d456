// SPDX-License-Identifier: Apache-2.0
// Ops of a user's own: in a model that is trained, checked by check_op, and loaded from shared objects.
#include "reprise/op.h"

#include <gtest/gtest.h>

#include <cstring>

#include "reprise/test.h"
#include "support/expect_error.h"
#include "support/run_program.h"
#include "support/source_directory.h"
#include "support/temporary_directory.h"
#include "support/tolerance.h"
#include "unit/api/models.h"

namespace reprise {
namespace {

using test::Line;
using test::line_inputs;

using Columns = std::function<void(OpRow&)>;

std::vector<TensorType> like_first(const Node&, std::span<const TensorType> inputs) { return {inputs[0]}; }

template <class C>
void store_squares(EvalContext& context, C scale) {
  std::vector<C> x = context.load<C>(0);
  for (C& value : x) value = scale * value * value;
  context.store<C>(0, x);
}

void evaluate_square(EvalContext& context) {
  EvalContext::dispatch_float(context.in_type(0).dtype, [&](auto zero) { store_squares(context, decltype(zero)(1)); });
}

std::vector<ValueId> square_vjp(VjpContext& c) { return {ops::mul_scalar(c.b, ops::mul(c.b, c.gy(), c.in(0)), 2)}; }

/// x^2 as an opaque op, which passes every check.
OpRow opaque_square() {
  OpRow row;
  row.infer = like_first;
  row.evaluate = evaluate_square;
  row.vjp = square_vjp;
  row.cost = [](const Node&, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
    return streaming_cost(inputs, outputs, 1);
  };
  row.samples = [] {
    return std::vector{op_sample("matrix", {real_input({3, 5})}, CustomAttrs{}), op_sample("scalar", {real_input({})}, CustomAttrs{})};
  };
  return row;
}

/// x^2 made of parts, beside an evaluate to check them against.
OpRow square_of_parts() {
  OpRow row = opaque_square();
  row.vjp = nullptr;
  row.cost = nullptr;
  row.decompose = [](Builder& b, const Node&, std::span<const ValueId> inputs) { return std::vector{ops::mul(b, inputs[0], inputs[0])}; };
  return row;
}

/// Registers `row` after `change` under a name of its own and checks it.
test::OpCheck checked(std::string_view name, OpRow row, const Columns& change = {}) {
  if (change) change(row);
  return test::check_op(register_op(name, std::move(row)));
}

void expect_problem(const test::OpCheck& check, std::string_view phrase) {
  EXPECT_FALSE(check.passed());
  EXPECT_NE(check.str().find(phrase), std::string::npos) << "wanted: " << phrase << "\nfound: " << check.str();
}

TEST(CheckOp, PassesWhatIsRight) {
  const test::OpCheck opaque = checked("op_test_opaque", opaque_square());
  EXPECT_TRUE(opaque.passed()) << opaque.str();
  EXPECT_EQ(opaque.samples, 2U);
  const test::OpCheck parts = checked("op_test_parts", square_of_parts());
  EXPECT_TRUE(parts.passed()) << parts.str();
}

TEST(CheckOp, FindsAWrongVjp) {
  const auto check = checked("op_test_wrong_vjp", opaque_square(), [](OpRow& row) {
    row.vjp = [](VjpContext& c) { return std::vector{ops::mul(c.b, c.gy(), c.in(0))}; };
  });
  expect_problem(check, "op_test_wrong_vjp.matrix: the gradient: input 0 element 0: the vjp gives");
  const auto none = checked("op_test_no_vjp", opaque_square(), [](OpRow& row) { row.vjp = nullptr; });
  expect_problem(none, "which has no vjp");
  const auto slightly = checked("op_test_slightly_wrong_vjp", square_of_parts(), [](OpRow& row) {
    row.vjp = [](VjpContext& c) { return std::vector{ops::mul_scalar(c.b, ops::mul(c.b, c.gy(), c.in(0)), 2.00001)}; };
  });
  expect_problem(slightly, "the gradient: input 0");
}

TEST(CheckOp, FindsAWrongDecomposition) {
  const auto value = checked("op_test_wrong_parts", square_of_parts(), [](OpRow& row) {
    row.decompose = [](Builder& b, const Node&, std::span<const ValueId> inputs) {
      return std::vector{ops::mul_scalar(b, ops::square(b, inputs[0]), 1.0001)};
    };
  });
  expect_problem(value, "op_test_wrong_parts.matrix: decompose: output 0 element 0 is");
  const auto type = checked("op_test_wrong_part_type", square_of_parts(), [](OpRow& row) {
    row.decompose = [](Builder& b, const Node&, std::span<const ValueId> inputs) { return std::vector{ops::sum(b, inputs[0])}; };
  });
  expect_problem(type, "decompose: the op 'op_test_wrong_part_type' makes output 0 of float32[] in decompose, `infer` says float32[3, 5]");
}

TEST(CheckOp, FindsAWrongInfer) {
  const auto shorter = checked("op_test_wrong_infer", opaque_square(), [](OpRow& row) {
    row.infer = [](const Node&, std::span<const TensorType> inputs) {
      return std::vector{TensorType{inputs[0].dtype, {inputs[0].shape.numel() + 1}}};
    };
  });
  expect_problem(shorter, "evaluate: the op 'op_test_wrong_infer' gives in evaluate 15 elements for output 0, float32[16]");
  const auto parts = checked("op_test_wrong_infer_parts", square_of_parts(), [](OpRow& row) {
    row.infer = [](const Node&, std::span<const TensorType> inputs) { return std::vector{inputs[0], inputs[0]}; };
    row.evaluate = nullptr;
  });
  expect_problem(parts, "`infer` says 2");
  const auto nothing = checked("op_test_no_outputs", opaque_square(), [](OpRow& row) {
    row.infer = [](const Node&, std::span<const TensorType>) { return std::vector<TensorType>(); };
  });
  expect_problem(nothing, "infer: op 'op_test_no_outputs' infers no output; an op makes one at least");
}

TEST(CheckOp, FindsPartsThatLeadBackToTheOp) {
  const auto check = checked("op_test_of_itself", square_of_parts(), [](OpRow& row) {
    row.decompose = [](Builder& b, const Node& node, std::span<const ValueId> inputs) {
      return b.emit_like(node, std::vector(inputs.begin(), inputs.end()));
    };
  });
  expect_problem(check, "the decomposition of op 'op_test_of_itself' leads back to itself");
}

TEST(UserOp, WhatItsAuthorDidWrongIsTheUsersError) {
  const auto compiled = [](std::string_view name, OpRow row, const Columns& change) {
    change(row);
    register_op(name, std::move(row));
    const Line line;
    StepOptions options;
    options.dtype = DType::float64;
    const auto loss = [&](const std::vector<Tensor>& in) { return custom_op(name, {line(in[0]) - in[1]})[0].mean(); };
    compile_step(line, line_inputs(5), loss, options);
  };
  EXPECT_USER_ERROR(compiled("op_test_vjp_of_two", opaque_square(), [](OpRow& row) {
    row.vjp = [](VjpContext& c) { return std::vector{c.gy(), c.gy()}; };
  }), "the op 'op_test_vjp_of_two' returns in vjp 2 cotangents for 1 inputs");
  EXPECT_USER_ERROR(compiled("op_test_vjp_of_sum", opaque_square(), [](OpRow& row) {
    row.vjp = [](VjpContext& c) { return std::vector{ops::sum(c.b, c.gy())}; };
  }), "the op 'op_test_vjp_of_sum' returns in vjp float64[] for input 0, float64[5, 2]");
  EXPECT_USER_ERROR(compiled("op_test_no_part", square_of_parts(), [](OpRow& row) {
    row.decompose = [](Builder&, const Node&, std::span<const ValueId>) { return std::vector<ValueId>(); };
  }), "the op 'op_test_no_part' makes 0 values in decompose, `infer` says 1");
  EXPECT_USER_ERROR(compiled("op_test_less_workspace", opaque_square(), [](OpRow& row) {
    row.workspace = [](const Node&, std::span<const TensorType>, std::span<const TensorType>) { return std::int64_t{-1}; };
  }), "the op 'op_test_less_workspace' asks for a workspace of -1 bytes");
}

TEST(CheckOp, FindsInputsAndOutputsThatAreNotThere) {
  const auto input = checked("op_test_third_input", opaque_square(), [](OpRow& row) {
    row.evaluate = [](EvalContext& c) { c.store<float>(0, c.load<float>(2)); };
  });
  expect_problem(input, "the op 'op_test_third_input' reads in evaluate input 2 of 1");
  const auto output = checked("op_test_second_output", opaque_square(), [](OpRow& row) {
    row.evaluate = [](EvalContext& c) { c.store<float>(1, c.load<float>(0)); };
  });
  expect_problem(output, "the op 'op_test_second_output' writes in evaluate output 1 of 1");
}

TEST(CheckOp, SamplesNeedNoAttributes) {
  const auto check = checked("op_test_plain_sample", opaque_square(), [](OpRow& row) {
    row.samples = [] { return std::vector{op_sample("plain", {real_input({2, 3})})}; };
  });
  EXPECT_TRUE(check.passed()) << check.str();
}

TEST(CheckOp, FindsMemoryThatEvaluateShouldLeaveAloneOrFill) {
  const auto raw = [](auto&& body) {
    return [body](OpRow& row) {
      row.workspace = [](const Node&, std::span<const TensorType>, std::span<const TensorType>) { return std::int64_t{16}; };
      row.evaluate = [body](EvalContext& context) {
        evaluate_square(context);
        body(context);
      };
    };
  };
  const auto beyond = checked("op_test_beyond", opaque_square(),
                              raw([](EvalContext& c) { static_cast<std::byte*>(c.out().data)[c.out_type().bytes()] = std::byte{1}; }));
  expect_problem(beyond, "evaluate: writes beside output 0");
  const auto scratch = checked("op_test_scratch", opaque_square(), raw([](EvalContext& c) { c.workspace().data()[16] = std::byte{1}; }));
  expect_problem(scratch, "evaluate: writes beside its workspace");
  const auto input = checked("op_test_input", opaque_square(), raw([](EvalContext& c) { std::memset(c.in(0).data, 1, 2); }));
  expect_problem(input, "evaluate: writes its input 0");
  const auto unwritten = checked("op_test_unwritten", opaque_square(), [](OpRow& row) { row.evaluate = [](EvalContext&) {}; });
  expect_problem(unwritten, "leaves elements of output 0 unwritten");
}

TEST(CheckOp, NeedsSamples) {
  const auto none = checked("op_test_no_samples", opaque_square(), [](OpRow& row) { row.samples = nullptr; });
  expect_problem(none, "op_test_no_samples: there are no samples to check it on");
  EXPECT_USER_ERROR(test::check_op("op_test_no_sampels"), "there is no op 'op_test_no_sampels'; did you mean \"op_test_no_samples\"?");
}

class BuiltinOps : public testing::TestWithParam<std::size_t> {};

TEST_P(BuiltinOps, PassTheirChecks) {
  const test::OpCheck check = test::check_op(Opcode{static_cast<std::uint16_t>(GetParam())});
  EXPECT_TRUE(check.passed()) << check.str();
}

INSTANTIATE_TEST_SUITE_P(Every, BuiltinOps, testing::Range<std::size_t>(0, kBuiltinOpcodeCount),
                         [](const auto& one) { return std::string(opcode_name(Opcode{static_cast<std::uint16_t>(one.param)})); });

TEST(UserOps, TrainInAModelLikeTheirParts) {
  register_op("op_test_model_parts", square_of_parts());
  register_op("op_test_model_opaque", opaque_square());
  const test::Line line;
  const auto losses = [&](const std::function<Tensor(const Tensor&)>& square) {
    Step step = compile_step(line, test::line_inputs(5, DType::float32),
                             [&](const std::vector<Tensor>& in) { return square(line(in[0]) - in[1]).mean(); });
    std::vector<double> result;
    for (int i = 0; i < 3; ++i) result.push_back(step.run({test::numbers<float>(15, i), test::numbers<float>(10, i + 5)}).loss);
    return result;
  };
  const std::vector<double> expected = losses([](const Tensor& x) { return x * x; });
  const std::vector<double> parts = losses([](const Tensor& x) { return custom_op("op_test_model_parts", {x})[0]; });
  const std::vector<double> opaque = losses([](const Tensor& x) { return custom_op("op_test_model_opaque", {x})[0]; });
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(test::near(parts[i], expected[i], test::tolerance(DType::float32, 15)));
    EXPECT_TRUE(test::near(opaque[i], expected[i], test::tolerance(DType::float32, 15)));
  }
}

TEST(OpsLibrary, LoadsOpsThatPassTheirChecks) {
  EXPECT_EQ(load_ops(REPRISE_OPS_GOOD), (std::vector<std::string>{"loaded_snake", "loaded_reversed"}));
  for (const char* const name : {"loaded_snake", "loaded_reversed"}) {
    const test::OpCheck check = test::check_op(name);
    EXPECT_TRUE(check.passed()) << check.str();
  }
  EXPECT_USER_ERROR(load_ops(REPRISE_OPS_GOOD), "an op of this name exists already, choose another: 'loaded_snake'");
  const std::string text = R"(reprise trace 1
trace t {
  input float32[2, 3] %x batch
  float32[2, 3] %y = loaded_snake(%x) {fields={a=0.5}}
  output %y
}
)";
  EXPECT_EQ(print_trace(parse_trace(text)), text);
}

TEST(OpsLibrary, SaysWhatIsWrongWithAFile) {
  EXPECT_USER_ERROR(load_ops("not/there.so"), "there is no such shared object of ops: not/there.so");
  EXPECT_USER_ERROR(load_ops((test::source_directory() / "README.md").string()), "README.md");
  EXPECT_USER_ERROR(load_ops(REPRISE_OPS_NO_ENTRY), "a shared object of ops has no entry point; define it with REPRISE_OPS: ");
  EXPECT_USER_ERROR(load_ops(REPRISE_OPS_OLD_INTERFACE), "was built for interface 0, this reprise has 1; build it anew: ");
  EXPECT_USER_ERROR(load_ops(REPRISE_OPS_TAKEN_NAME), "an op of this name exists already, choose another: 'matmul'");
}

TEST(OpsLibrary, TheProgramRunsTracesOfLoadedOps) {
  const test::TemporaryDirectory folder;
  const auto file = folder.path() / "t.trace";
  test::put_file(file, "reprise trace 1\ntrace t {\n  input float32[2, 3] %x batch\n  float32[2, 3] %y = loaded_reversed(%x)\n"
                       "  float32[2, 3] %z = loaded_snake(%y) {fields={a=0.5}}\n  output %z\n}\n");
  const auto with = test::reprise_run({"run-trace", "--ops", REPRISE_OPS_GOOD, file.string(), "--quiet"});
  EXPECT_EQ(with.status, 0) << with.err;
  EXPECT_EQ(with.out.find("%z float32[2, 3]: min "), 0U) << with.out;
  test::expect_refusal({"run-trace", file.string()}, "an op of your own must be registered before its trace is read");
  test::expect_refusal({"run-trace", "--ops", "not/there.so", file.string()}, "there is no such shared object of ops: not/there.so");
}

}  // namespace
}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Whole steps of small models under every policy, in an engine: the bits of `none`, less memory, predicted = addressed.
#include "train/recompute_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "executor/loops/executor.h"
#include "executor/onednn/executor.h"
#include "support/expect_error.h"

namespace reprise {
namespace {

struct CheckCase {
  std::string model;
  DType dtype = DType::float32;
  double dropout = 0;
};

class PoliciesOfSteps : public ::testing::TestWithParam<CheckCase> {};

GptProgramOptions options_of(const CheckCase& test) {
  GptProgramOptions options;
  options.config = named_config(test.model);
  options.config.set_dropout(test.dropout);
  options.dtype = test.dtype;
  options.block_size = std::min<std::int64_t>(options.config.block_size, 32);
  options.micro_batch_size = 2;
  options.adamw.max_norm = 1;
  if (test.dtype != DType::float32) options.adamw.rounding = Rounding::stochastic;
  return options;
}

CompileOptions compile_with(const std::string& policy) {
  CompileOptions compile = host_options({&onednn_executor(), &loops_executor()}, 2);
  compile.recompute.policy = parse_policy(policy);
  return compile;
}

TEST_P(PoliciesOfSteps, KeepsTheBitsUnderEveryPolicy) {
  const GptProgramOptions options = options_of(GetParam());
  std::vector<RecomputeOptions> all;
  for (const char* policy : {"auto", "ops", "alternate", "layers:2", "full", "regions:block0"}) {
    all.push_back(compile_with(policy).recompute);
  }
  for (const char* policy : {"full", "alternate"}) {
    all.push_back(compile_with(policy).recompute);
    all.back().early_stop = false;
  }
  all.back().compat_eager = true;
  for (const auto compared : {RecomputeCheck::Compared::gradients, RecomputeCheck::Compared::step}) {
    const RecomputeCheck check(options, compile_with("none"), 3, compared);
    for (const RecomputeOptions& recompute : all) EXPECT_EQ(check.difference(recompute).value_or(""), "") << recompute.policy.str();
  }
  EXPECT_EQ(recompute_difference(options, compile_with("full"), 3).value_or(""), "");
}

TEST_P(PoliciesOfSteps, SavesLessTheMoreRunsAgain) {
  const GptProgramOptions options = options_of(GetParam());
  const auto step = [&](const char* policy) { return *compile_gpt(options, compile_with(policy)).training; };
  const CompiledTraining none = step("none");
  const CompiledTraining automatic = step("auto");
  const CompiledTraining ops = step("ops");
  const CompiledTraining full = step("full");
  EXPECT_LT(automatic.saved.bytes, none.saved.bytes);
  EXPECT_LT(ops.saved.bytes, none.saved.bytes);
  EXPECT_LT(full.saved.bytes, ops.saved.bytes);
  EXPECT_LT(full.step.plan.transient_bytes, none.step.plan.transient_bytes);
  EXPECT_LE(automatic.step.plan.transient_bytes, none.step.plan.transient_bytes);
  EXPECT_EQ(none.flops.recompute, 0);
  EXPECT_GT(full.flops.recomputed_percent(), ops.flops.recomputed_percent());
  EXPECT_LT(full.flops.recomputed_percent(), 100.0 / 3) << "at most the forward again, and a step is three";
}

TEST_P(PoliciesOfSteps, APlanReadFromAFileIsThePlan) {
  const GptProgramOptions options = options_of(GetParam());
  const CompiledTraining full = *compile_gpt(options, compile_with("full")).training;
  CompileOptions read = compile_with("file:plan.txt");
  for (const RecomputePlan& plan : full.recompute) read.recompute.plan_text += plan.str();
  const CompiledTraining again = *compile_gpt(options, read).training;
  EXPECT_EQ(again.step.claimed, full.step.claimed);
}

TEST_P(PoliciesOfSteps, APlanReadFromAFileIsChecked) {
  for (const bool accumulates : {false, true}) {
    GptProgramOptions options = options_of(GetParam());
    options.micro_steps = accumulates ? 2 : 1;
    options.packed = accumulates;
    options.adamw.log_norm = true;
    CompileOptions read = compile_with("file:plan.txt");
    read.recompute.plan_text = plans_text(compile_gpt(options, compile_with("full")).training->recompute);
    EXPECT_EQ(recompute_difference(options, read, 3).value_or(""), "");
    options.block_size /= 2;
    EXPECT_USER_ERROR(recompute_difference(options, read, 3), "the recompute plan plan.txt was made for another step");
  }
}

INSTANTIATE_TEST_SUITE_P(Models, PoliciesOfSteps,
                         ::testing::Values(CheckCase{"toy-gpt", DType::float32, 0.1}, CheckCase{"toy-llama", DType::float32, 0},
                                           CheckCase{"toy-neox", DType::bfloat16, 0.1}),
                         [](const ::testing::TestParamInfo<CheckCase>& tested) {
                           std::string name = tested.param.model;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Models of every structure under every recompute policy: each gradient has the bits that it has under `none`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "executor/loops/executor.h"
#include "executor/onednn/executor.h"
#include "io/json.h"
#include "nn/gpt_config_json.h"
#include "reference/figures_folders.h"
#include "support/reference_directory.h"
#include "support/structure_configs.h"
#include "train/recompute_check.h"

namespace reprise {

/// Names in the test's listing.
void PrintTo(const GptConfig& config, std::ostream* stream) { *stream << config.name; }

namespace test {

void PrintTo(const FolderFigure& figure, std::ostream* stream) { *stream << figure.name; }

namespace {

/// Dropout everywhere, so that its masks are part of what must be the same.
void expect_same_gradients(GptConfig config) {
  config.set_dropout(0.1);
  GptProgramOptions options;
  options.config = config;
  options.block_size = std::min<std::int64_t>(config.block_size, 12);
  options.micro_batch_size = 2;
  CompileOptions compile = host_options({&onednn_executor(), &loops_executor()}, 1);
  const RecomputeCheck check(options, compile, 3, RecomputeCheck::Compared::gradients);
  for (const char* const policy : {"none", "tags", "full", "layers:2", "ops", "alternate", "regions:block0", "auto"}) {
    RecomputeOptions recompute;
    recompute.policy = parse_policy(policy);
    EXPECT_EQ(check.difference(recompute).value_or(""), "") << policy;
  }
  compile.recompute.policy = parse_policy("full");
  const RecomputePlan plan = clean_claim_recompute(check.trace(), compile).plan;
  EXPECT_FALSE(plan.copies.empty());
  RecomputeOptions from_file;
  from_file.policy = parse_policy("file:plan.txt");
  from_file.plan_text = plan.str();
  EXPECT_EQ(check.difference(from_file).value_or(""), "") << "the plan of full, read again";
}

std::string identifier(std::string name) {
  std::replace_if(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

class PolicyOnStructure : public testing::TestWithParam<GptConfig> {};
TEST_P(PolicyOnStructure, KeepsTheBitsOfEveryGradient) { expect_same_gradients(GetParam()); }

class PolicyOnFamily : public testing::TestWithParam<FolderFigure> {};
TEST_P(PolicyOnFamily, KeepsTheBitsOfEveryGradient) {
  expect_same_gradients(config_from_json(parse_json(GetParam().config, "config.json"), "config.json").config);
}

TEST(PolicyOnReferenceModels, KeepTheBitsOfEveryGradient) {
  REPRISE_NEEDS_REFERENCE("models");
  std::size_t models = 0;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(reference_directory() / "models")) {
    if (!entry.is_directory()) continue;
    SCOPED_TRACE(entry.path().filename().string());
    ++models;
    expect_same_gradients(read_config(entry.path()).config);
  }
  EXPECT_EQ(models, read_json(reference_directory() / "models" / "index.json").find("models")->members().size());
}

INSTANTIATE_TEST_SUITE_P(Every, PolicyOnStructure, testing::ValuesIn(structure_configs()), [](const auto& one) { return one.param.name; });
INSTANTIATE_TEST_SUITE_P(Every, PolicyOnFamily, testing::ValuesIn(kFolderFigures),
                         [](const auto& one) { return identifier(one.param.name); });

}  // namespace
}  // namespace test
}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Texts of policies, save lists and plans, and what is said of wrong ones.
#include "recompute/policy.h"

#include <gtest/gtest.h>

#include "recompute/plan.h"
#include "recompute/save_list.h"
#include "support/expect_error.h"
#include "support/recompute_models.h"

namespace reprise::test {
namespace {

TEST(RecomputePolicy, PrintsAndParses) {
  for (const char* text : {"none", "tags", "full", "layers:3", "ops", "ops:a file.txt", "alternate", "alternate:*.gate,wq",
                           "regions:block0,block1*", "auto", "file:plan.txt"}) {
    EXPECT_EQ(parse_policy(text).str(), text);
  }
}

TEST(RecomputePolicy, SaysWhatIsWrong) {
  EXPECT_USER_ERROR(parse_policy("ful"), "did you mean \"full\"?");
  EXPECT_USER_ERROR(parse_policy("layers"), "the recompute policy layers is written layers:N");
  EXPECT_USER_ERROR(parse_policy("layers:0"), "layers:N needs a whole number from 1, not '0'");
  EXPECT_USER_ERROR(parse_policy("layers:2x"), "not '2x'");
  EXPECT_USER_ERROR(parse_policy("full:1"), "the recompute policy full is written full, not 'full:1'");
  EXPECT_USER_ERROR(parse_policy("regions:a,,b"), "a name is missing");
  EXPECT_USER_ERROR(parse_policy("budget:4GB"), "needs the planner of budgets, which this version does not have");
}

TEST(SaveList, ReadsNamesAndComments) {
  const SaveList list = parse_save_list("# mine\ndefault\n  silu  # gates\n\n", "list.txt");
  EXPECT_TRUE(list.contains(op::silu));
  EXPECT_TRUE(list.contains(op::linear));
  EXPECT_TRUE(list.contains(op::attention));
  EXPECT_FALSE(list.contains(op::gelu));
  EXPECT_USER_ERROR(parse_save_list("matmul\nlinaer\n", "list.txt"), "list.txt:2: no op is called 'linaer'; did you mean \"linear\"?");
  EXPECT_EQ(parse_save_list("\xEF\xBB\xBFsilu\r\ngelu\r\n", "l").names(), (std::vector<std::string>{"gelu", "silu"}))
      << "as some editors write";
  EXPECT_USER_ERROR(parse_save_list("a\x1b[2J\n", "l"), "l:1: no op is called 'a\\x1b[2J'");
  EXPECT_USER_ERROR(parse_save_list(std::string(1 << 22, 'x'), "l"), "l:1: no op is called '" + std::string(80, 'x') + "...'");
}

TEST(RecomputePlanText, PrintsAndParses) {
  RecomputePlan plan;
  plan.policy = "ops:a list.txt";
  plan.trace = "step";
  plan.fingerprint = 0x1234;
  plan.replays_whole = true;
  plan.saved = {{SavedEntry::How::keep, "x", "", "leaves region block0"},
                {SavedEntry::How::copy, "v", "", ""},
                {SavedEntry::How::hold, "y", "g", "listed"}};
  plan.copies = {{"h.r1", "h", "g", "recompute full"}};
  RecomputePlan accumulating = plan;
  accumulating.trace = "accumulate";
  EXPECT_EQ(parse_plans(plans_text({plan, accumulating}), "p"), (std::vector{plan, accumulating}));
  std::string other_ends = "\xEF\xBB\xBF";
  for (const char c : plan.str()) other_ends += c == '\n' ? "\r\n" : std::string(1, c);
  EXPECT_EQ(parse_plans(other_ends, "p"), std::vector{plan});
  plan.policy = "ops:a\nlist";
  EXPECT_EQ(parse_plans(plan.str(), "p").at(0).policy, "ops:a\\x0alist");
}

TEST(RecomputePlanText, WithoutEntriesIsAPlanOfNoneAlone) {
  const ClaimedTrace claimed = joint_of([](Tracer& tracer) {
    const Linear linear(8, 8, false, test::kSmall);
    tracer.output(linear(test::batch_input(tracer, {4, 8})).silu().square().sum());
  });
  RecomputePlan plan = recompute(claimed, "none").plan;
  EXPECT_NO_THROW(validate_plan(claimed.trace, plan, "mine.txt"));
  plan.policy = "full";  // the entries of which are lost
  EXPECT_USER_ERROR(validate_plan(claimed.trace, plan, "mine.txt"), "in mine.txt is not right: ");
  EXPECT_USER_ERROR(validate_plan(claimed.trace, plan, "mine.txt"), "which is neither kept nor made again above it");
}

TEST(RecomputePlanText, OfAnotherTraceNamesTheFileAndWhatToCompare) {
  const ClaimedTrace claimed = joint_of([](Tracer& tracer) {
    const Linear linear(8, 8, false, kSmall);
    tracer.output(linear(batch_input(tracer, {4, 8})).silu().square().sum());
  });
  RecomputePlan plan = recompute(claimed, "auto").plan;
  RecomputeOptions options;
  options.policy = parse_policy("file:mine.txt");
  const auto read = [&](const RecomputePlan& written) {
    options.plan_text = written.str();
    recompute(claimed, options);
  };
  EXPECT_NO_THROW(read(plan));
  RecomputePlan changed = plan;
  changed.saved.push_back({SavedEntry::How::keep, std::string(1000, 'n'), "", ""});
  EXPECT_USER_ERROR(validate_plan(claimed.trace, changed, "mine.txt"), "in mine.txt is not right: a kept value names %nnn");
  changed = plan;
  ++changed.fingerprint;
  EXPECT_USER_ERROR(read(changed), "the recompute plan mine.txt was made for another");
  for (const char* part : {"the vocabulary, tied embeddings", "max_norm, dropout, pack_documents",
                           "with max_norm 0 train measures the norm still", "RUN/recompute_plan.txt"}) {
    EXPECT_USER_ERROR(read(changed), part);
  }
  changed.trace = "accumulate";
  EXPECT_USER_ERROR(read(changed), "mine.txt holds no recompute plan for " + claimed.trace.name + ", but for accumulate");
}

TEST(RecomputePlanText, SaysWhatIsWrongAndWhere) {
  const std::string head = "recompute plan 1 for step 12\npolicy full\n";
  EXPECT_USER_ERROR(parse_plans("", "p"), "p: an empty file holds no recompute plan; reprise plan --out writes one");
  EXPECT_USER_ERROR(parse_plans(head + head, "p"), "p:3: a second recompute plan for step; leave one of the two");
  EXPECT_USER_ERROR(parse_plans("memory\n", "p"), "p:1: not a recompute plan");
  EXPECT_USER_ERROR(parse_plans("recompute plan 2 for step 12\n", "p"),
                    "p:1: a recompute plan of another version; this program reads version 1");
  EXPECT_USER_ERROR(parse_plans("recompute plan 1 for step zz\n", "p"), "p:1: the fingerprint is a hexadecimal number");
  EXPECT_USER_ERROR(parse_plans("recompute plan 1 for step 12\nkeep %x\n", "p"), "p:2: the second line reads 'policy POLICY'");
  EXPECT_USER_ERROR(parse_plans(head + "keep x\n", "p"), "p:3: expected a value, %NAME");
  EXPECT_USER_ERROR(parse_plans(head + "again %x.r1 of %x\n", "p"), "p:3: expected 'again %NAME of %VALUE before %VALUE'");
  EXPECT_USER_ERROR(parse_plans(head + "drop %x\n", "p"), "p:3: expected keep, copy, hold or again, not 'drop'");
  EXPECT_USER_ERROR(parse_plans(head + "dr\x1bop\n", "p"), "not 'dr\\x1bop'");
}

}  // namespace
}  // namespace reprise::test

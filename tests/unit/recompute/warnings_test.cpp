// SPDX-License-Identifier: Apache-2.0
// What is asked for and does not act is said once, by name, with what to do.
#include "recompute/warnings.h"

#include <gtest/gtest.h>

#include "support/recompute_models.h"

namespace reprise::test {
namespace {

using Warnings = std::vector<std::string>;

/// `blocks` regions with this policy around a product and two functions; `with` sees the value between them.
ClaimedTrace model(int blocks, const std::optional<RegionPolicy>& policy = {},
                   const std::function<void(Tracer&, const Tensor&)>& with = {}) {
  return joint_of([&](Tracer& tracer) {
    Tensor x = batch_input(tracer, {4, 8});
    for (int i = 0; i < blocks; ++i) {
      const Linear linear(8, 8, false, kSmall);
      const Tracer::Scope module = tracer.module(std::to_string(i));
      const Tracer::Scope region = tracer.region("block" + std::to_string(i), policy);
      const Tensor h = linear(x).silu();
      if (with) with(tracer, h);
      x = linear(h).tanh();
    }
    tracer.output(x.square().sum());
  });
}

ClaimedTrace without_regions() {
  return joint_of([](Tracer& tracer) {
    const Linear linear(8, 8, false, kSmall);
    tracer.output(linear(batch_input(tracer, {4, 8})).silu().square().sum());
  });
}

Warnings ops_from(const std::string& text, const ClaimedTrace& claimed) {
  RecomputeOptions options;
  options.policy = parse_policy("ops:mine.txt");
  options.save_list = parse_save_list(text, "mine.txt");
  return recompute(claimed, options).warnings;
}

TEST(RecomputeWarnings, SayNothingWhereEverythingActs) {
  for (const char* policy : {"none", "auto", "full", "ops", "alternate", "layers:2", "regions:block0"}) {
    EXPECT_EQ(recompute(model(2), policy).warnings, Warnings{}) << policy;
  }
  EXPECT_EQ(recompute(model(2, RegionPolicy{}), "tags").warnings, Warnings{});
  EXPECT_EQ(ops_from("default\ntanh\n", model(2)), Warnings{}) << "what the default list has need not run";
}

TEST(RecomputeWarnings, APolicyWithoutEffect) {
  const Recomputed full = recompute(without_regions(), "full");
  EXPECT_EQ(full.count(op::linear, Phase::recompute), 0);
  EXPECT_EQ(full.warnings,
            Warnings{"recompute full has no effect: the model has no checkpoint regions; put its layers into "
                     "checkpoint(...), or choose auto"});
  EXPECT_EQ(recompute(model(2), "tags").warnings,
            Warnings{"recompute tags has no effect: the model's code has no tags and no regions with policies; recompute "
                     "auto or full needs none"});
  EXPECT_EQ(recompute(model(2), "regions:*").warnings,
            Warnings{"recompute regions:* has no effect: backward reads nothing that it would make again; recompute none is the same"});
  EXPECT_EQ(recompute(model(3), "layers:4").warnings,
            Warnings{"recompute layers:4 acts on block0 alone: the model has 3 blocks; choose a smaller "
                     "N"});
  EXPECT_EQ(recompute(model(3), "layers:3").warnings, Warnings{});
  EXPECT_EQ(recompute(model(1), "layers:2").warnings,
            Warnings{"recompute layers:2 acts on block0 alone: the model has 1 block; choose a smaller N"});
  RecomputeOptions from_file;
  from_file.policy = parse_policy("file:mine.txt");
  for (const char* policy : {"none", "tags"}) {
    from_file.plan_text = recompute(model(2), policy).plan.str();
    EXPECT_EQ(recompute(model(2), from_file).warnings,
              Warnings{"recompute file:mine.txt has no effect: its plan makes nothing again; recompute none is the same"});
  }
  from_file.plan_text = recompute(model(2), "full").plan.str();
  EXPECT_EQ(recompute(model(2), from_file).warnings, Warnings{});
}

TEST(RecomputeWarnings, NonePassesOverWishesInCode) {
  EXPECT_EQ(passed_over_warnings(model(3, RegionPolicy{RegionPolicy::Kind::full, {}}).trace),
            Warnings{"recompute none passes over the policies of regions in the model's code: block0 is full (and 2 more); "
                     "recompute tags follows them"});
  const auto tagged = model(1, {}, [](Tracer& tracer, const Tensor& h) { tracer.tag(h, TagKind::must_save); });
  EXPECT_EQ(passed_over_warnings(tagged.trace),
            Warnings{"recompute none passes over tags in the model's code: %silu is must_save; recompute tags follows "
                     "them"});
  EXPECT_EQ(passed_over_warnings(model(3).trace), Warnings{});
  EXPECT_EQ(recompute(tagged, "none").warnings, Warnings{});
  EXPECT_EQ(recompute(tagged, "full").warnings, Warnings{});
}

TEST(RecomputeWarnings, ListsThatNameWhatNoBlockRuns) {
  EXPECT_EQ(ops_from("default\ngelu\nerf\n", model(2)),
            Warnings{"the save list mine.txt names erf, gelu, which no block runs; reprise trace MODEL --stage claimed "
                     "shows which there are"});
  EXPECT_EQ(ops_from("gelu\n", model(2)),
            Warnings{"recompute ops:mine.txt is recompute full: no block runs an op of the list; reprise trace MODEL "
                     "--stage claimed shows which there are"});
  EXPECT_EQ(ops_from("silu\ntopk\nmatmul\n", model(2)),
            Warnings{"the save list mine.txt names matmul, topk, which no block runs; reprise trace MODEL --stage claimed "
                     "shows which there are"});
  EXPECT_EQ(ops_from("# nothing\n", model(2)),
            Warnings{"recompute ops:mine.txt is recompute full: the list is empty; name ops in it, or default"});
}

TEST(RecomputeWarnings, ListsOfRegionsThatNameWhatTheyDoNotRun) {
  const auto listed = [](std::vector<std::string> names) {
    return recompute(model(2, RegionPolicy{RegionPolicy::Kind::ops, std::move(names)}), "tags").warnings;
  };
  EXPECT_EQ(listed({"silu", "gelu"}),
            Warnings{"the save list of region block0 names gelu, which nothing in it runs (and 1 more); name ops that reprise trace "
                     "shows at stage claimed"});
  EXPECT_EQ(listed({"default"}), Warnings{});
  EXPECT_EQ(listed({"linear"}), Warnings{});
}

TEST(RecomputeWarnings, RegionsWithoutEffect) {
  const auto inner = joint_of([](Tracer& tracer) {
    const Linear linear(8, 8, false, kSmall);
    Tensor x = batch_input(tracer, {4, 8});
    x = checkpoint(tracer, "sum", [&] { return x + 1.0; });
    x = checkpoint(tracer, "scale", [&] { return x * 2.0; });
    x = checkpoint(tracer, "body", [&] { return linear(x).silu().tanh(); });
    tracer.output(x.square().sum());
  });
  EXPECT_EQ(recompute(inner, "tags").warnings,
            Warnings{"region sum is a checkpoint, with no effect (and 1 more): backward reads nothing in it that it would "
                     "make again; leave that out"});
}

TEST(RecomputeWarnings, TagsWithoutEffect) {
  const auto unread = [](TagKind kind) {
    return joint_of([kind](Tracer& tracer) {
      const Tensor x = batch_input(tracer, {4, 8});
      const Linear linear(8, 8, false, kSmall);
      const Tensor h = linear(x) + 1.0;
      tracer.tag(h, kind);
      tracer.output((h * 2.0).silu().sum());
    });
  };
  EXPECT_EQ(recompute(unread(TagKind::must_save), "tags").warnings,
            Warnings{"%add_scalar is must_save by user, with no effect: backward does not read it; tag what backward reads"});
  EXPECT_EQ(recompute(unread(TagKind::must_recompute), "tags").warnings,
            Warnings{"%add_scalar is must_recompute by user, with no effect: backward does not read it; tag what backward reads"});
}

TEST(RecomputeWarnings, WishesOfWhatNothingReads) {
  Tracer tracer("step");
  const Linear linear(8, 8, false, kSmall);
  const Tensor h = linear(batch_input(tracer, {4, 8})).dropout(0.5);
  tracer.tag(h, TagKind::must_save);
  tracer.tag(h.tanh(), TagKind::must_recompute);
  tracer.tag(h.exp(), TagKind::must_save);
  checkpoint(tracer, "probe", [&] { return h.silu(); }, {RegionPolicy::Kind::full, {}});
  checkpoint(tracer, "plain", [&] { return h.silu(); });
  tracer.output(checkpoint(tracer, "used", [&] { return h.square().sum(); }, {RegionPolicy::Kind::full, {}}));
  const Trace written = std::move(tracer).finish().trace;
  const Trace drawn = number_draws(written).trace;
  const Trace pure = run_passes(drawn, std::vector{find_pass("simplify"), find_pass("cse"), find_pass("dce")});
  EXPECT_EQ(lost_wish_warnings(written, pure),
            (Warnings{"region probe is full, with no effect: nothing reads what is made there; leave that out",
                      "%tanh is must_recompute by user, with no effect (and 1 more): nothing reads what is made there; leave that out"}));
  EXPECT_EQ(lost_wish_warnings(written, drawn), Warnings{});
}

TEST(RecomputeWarnings, SlowNodesThatRunAgain) {
  ClaimedTrace claimed = model(2);
  EXPECT_EQ(recompute(claimed, "full").warnings, Warnings{}) << "the reference executor runs everything";
  for (Node& node : claimed.trace.nodes) {
    if (node.opcode != op::silu && node.executor == Interned("reference")) node.executor = "loops";
  }
  RecomputeOptions options;
  options.policy = parse_policy("full");
  const RecomputePlan plan = plan_recompute(claimed.trace, options, SingleNodePricer()).plan;
  EXPECT_EQ(plan_warnings(claimed.trace, options, plan),
            Warnings{"recompute full runs silu again 2 times on the reference executor, which is slow; keep its results, "
                     "by a tag or by ops:FILE with silu on the list"});
}

}  // namespace
}  // namespace reprise::test

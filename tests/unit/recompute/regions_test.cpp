// SPDX-License-Identifier: Apache-2.0
// Regions, tags and policies in model code: who decides, what runs again, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/expect_error.h"
#include "support/recompute_models.h"

namespace reprise::test {
namespace {

struct Mlp : Module {
  Mlp() {
    fc = add_module("fc", Linear(8, 32, true, kSmall));
    proj = add_module("proj", Linear(32, 8, true, kSmall));
  }
  Tensor operator()(const Tensor& x) const { return proj(fc(x).gelu()) + x; }
  Linear fc, proj;
};

/// Two blocks, each a plain region, and the mean square of what comes out.
ClaimedTrace two_blocks() {
  return joint_of([](Tracer& tracer) {
    const Mlp first;
    const Mlp second;
    Tensor x = batch_input(tracer, {4, 8});
    {
      const Tracer::Scope module = tracer.module("first");
      const Tracer::Scope region = tracer.region("block0");
      x = first(x);
    }
    {
      const Tracer::Scope module = tracer.module("second");
      const Tracer::Scope region = tracer.region("block1");
      x = second(x);
    }
    tracer.output(x.square().mean());
  });
}

TEST(Regions, FullKeepsTheBlocksInputsOnly) {
  const Recomputed none = recompute(two_blocks(), "none");
  const Recomputed full = recompute(two_blocks(), "full");
  // Of each block fc and gelu run again; proj is not needed. The second block's input, and what comes out, are kept.
  EXPECT_EQ(full.count(op::linear, Phase::recompute), 2);
  EXPECT_EQ(full.count(op::gelu, Phase::recompute), 2);
  EXPECT_EQ(full.saved_bytes(), 2 * 4 * 8 * 4);
  EXPECT_EQ(none.saved_bytes(), 2 * 4 * 8 * 4 + 2 * 2 * 4 * 32 * 4);
  EXPECT_TRUE(full.warnings.empty());
}

TEST(Regions, EveryNthBlock) {
  const Recomputed second = recompute(two_blocks(), "layers:2");
  EXPECT_EQ(second.count(op::linear, Phase::recompute), 1);
  for (const Node& node : second.applied.trace.nodes) {
    if (node.phase == Phase::recompute) {
      EXPECT_EQ(node.region, Interned("block0"));
    }
  }
}

TEST(Regions, ByName) {
  const Recomputed kept = recompute(two_blocks(), "regions:block1");
  for (const Node& node : kept.applied.trace.nodes) {
    if (node.phase == Phase::recompute) {
      EXPECT_EQ(node.region, Interned("block0"));
    }
  }
  EXPECT_EQ(kept.count(op::linear, Phase::recompute), 1);
  EXPECT_USER_ERROR(recompute(two_blocks(), "regions:blok1"),
                    "no checkpoint region matches 'blok1' of recompute regions:blok1; did you mean \"block1\"?");
  EXPECT_USER_ERROR(recompute(two_blocks(), "regions:attention"), "of recompute regions:attention; there are block0, block1");
  EXPECT_USER_ERROR(recompute(two_blocks(), "alternate:expert?"), "matches 'expert?' on the force list of alternate; there are ");
}

TEST(Regions, SaveListsKeepProductsThatAreRead) {
  const Recomputed ops = recompute(two_blocks(), "ops");
  EXPECT_EQ(ops.count(op::linear, Phase::recompute), 0);
  EXPECT_EQ(ops.count(op::gelu, Phase::recompute), 2);
  EXPECT_EQ(ops.saved_bytes(), 2 * 4 * 8 * 4 + 2 * 4 * 32 * 4) << "proj's products are on the list, and nothing reads them";
}

TEST(Regions, CopiesAreNamedAfterTheirOriginalsAndPlacedBeforeTheirReaders) {
  const Recomputed full = recompute(two_blocks(), "full");
  const Trace& trace = full.applied.trace;
  bool backward_seen = false;
  for (const Node& node : trace.nodes) {
    backward_seen = backward_seen || node.phase == Phase::backward;
    if (node.phase != Phase::recompute) continue;
    EXPECT_TRUE(backward_seen);
    EXPECT_TRUE(trace[node.outputs[0]].name.ends_with(".r1"));
  }
  // All of block1's copies come before any of block0's: the latter's lie behind the former's backward.
  std::size_t last_of_1 = 0;
  std::size_t first_of_0 = trace.nodes.size();
  for (std::size_t n = 0; n < trace.nodes.size(); ++n) {
    if (trace.nodes[n].phase != Phase::recompute) continue;
    if (trace.nodes[n].region == Interned("block1")) last_of_1 = n;
    else first_of_0 = std::min(first_of_0, n);
  }
  EXPECT_LT(last_of_1, first_of_0);
}

/// One region with a policy of its own, around a product, an exponential and a sigmoid.
ClaimedTrace own_policy(const RegionPolicy& policy, const std::function<void(Tracer&, const Tensor&)>& with = {}) {
  return joint_of([&](Tracer& tracer) {
    const Linear linear(8, 16, false, kSmall);
    const Tensor x = batch_input(tracer, {4, 8});
    const Tensor y = checkpoint(tracer, "body", [&] {
      const Tensor h = linear(x).exp();
      if (with) with(tracer, h);
      return h.sigmoid();
    }, policy);
    tracer.output(y.square().sum());
  });
}

TEST(Regions, OwnPoliciesActUnderTagsAndNotUnderNone) {
  const Recomputed full = recompute(own_policy({}), "tags");
  EXPECT_EQ(full.count(op::linear, Phase::recompute), 1);
  const Recomputed none = recompute(own_policy({}), "none");
  EXPECT_EQ(none.count(op::linear, Phase::recompute), 0);
  const Recomputed ops = recompute(own_policy({RegionPolicy::Kind::ops, {"linear"}}), "tags");
  EXPECT_EQ(ops.count(op::linear, Phase::recompute), 0);
  EXPECT_EQ(ops.count(op::exp, Phase::recompute), 1);
  const Recomputed over = recompute(own_policy({RegionPolicy::Kind::none, {}}), "full");
  EXPECT_EQ(over.count(op::exp, Phase::recompute), 0) << "the region's own policy takes the place of the command's";
  EXPECT_USER_ERROR(recompute(own_policy({RegionPolicy::Kind::ops, {"linaer"}}), "tags"),
                    "the save list of region body: no op is called 'linaer'; did you mean \"linear\"?");
}

TEST(Regions, WithoutAPolicyOfTheirOwnDoAsTheStepSays) {
  const auto copies = [](const RegionPolicy& policy, const char* step) {
    const Recomputed result = recompute(own_policy(policy), step);
    return std::pair(result.count(op::linear, Phase::recompute), result.count(op::exp, Phase::recompute));
  };
  using Counts = std::pair<int, int>;
  for (const char* step : {"full", "tags", "layers:1"}) EXPECT_EQ(copies({}, step), Counts(1, 1)) << step;
  EXPECT_EQ(copies({}, "ops"), Counts(0, 1));
  EXPECT_EQ(copies({}, "alternate"), Counts(0, 1));
  EXPECT_EQ(copies({}, "regions:body"), Counts(0, 0));
  EXPECT_EQ(copies({}, "none"), Counts(0, 0));
  for (const char* step : {"ops", "alternate", "auto", "regions:body"}) {
    EXPECT_EQ(copies({RegionPolicy::Kind::full, {}}, step), Counts(1, 1)) << "its own policy comes before " << step;
  }
}

TEST(Regions, NestedRegionsMayOnlyTakeAway) {
  const auto nested = [](RegionPolicy outer, RegionPolicy inner) {
    return joint_of([&](Tracer& tracer) {
      const Linear linear(8, 16, false, kSmall);
      const Tensor x = batch_input(tracer, {4, 8});
      const Tensor y = checkpoint(tracer, "outer", [&] {
        const Tensor h = checkpoint(tracer, "inner", [&] { return linear(x).exp().sigmoid(); }, inner);
        return h.tanh();
      }, outer);
      tracer.output(y.square().sum());
    });
  };
  const RegionPolicy keep{RegionPolicy::Kind::none, {}};
  const Recomputed inner_full = recompute(nested(keep, {}), "tags");
  EXPECT_EQ(inner_full.count(op::exp, Phase::recompute), 1);
  EXPECT_EQ(inner_full.count(op::tanh, Phase::recompute), 0);
  const Recomputed outer_full = recompute(nested({}, keep), "tags");
  EXPECT_EQ(outer_full.count(op::exp, Phase::recompute), 1);
  EXPECT_EQ(outer_full.count(op::tanh, Phase::recompute), 0) << "y leaves the region";
  EXPECT_EQ(recompute(nested({}, {}), "tags").count(op::linear, Phase::recompute), 1) << "each runs again once, however deep";
}

TEST(Regions, AModuleUsedTwiceIsTwoRegions) {
  const Recomputed twice = recompute(joint_of([](Tracer& tracer) {
    struct Model : Module {
      Model() { mlp = add_module("mlp", Mlp()); }
      Mlp mlp;
    } model;
    const Checkpointed<Mlp> again(model.mlp);
    tracer.output(again(again(batch_input(tracer, {4, 8}))).square().mean());
  }), "tags");
  EXPECT_EQ(twice.count(op::linear, Phase::recompute), 2);
  EXPECT_EQ(twice.saved_bytes(), 2 * 4 * 8 * 4);
}

TEST(Tags, OverrideRegions) {
  const Recomputed kept = recompute(own_policy({}, [](Tracer& tracer, const Tensor& h) { tracer.tag(h, TagKind::must_save); }), "tags");
  EXPECT_EQ(kept.count(op::linear, Phase::recompute), 0);
  const Recomputed again = recompute(
      own_policy({RegionPolicy::Kind::none, {}}, [](Tracer& tracer, const Tensor& h) { tracer.tag(h, TagKind::must_recompute); }), "tags");
  EXPECT_EQ(again.count(op::exp, Phase::recompute), 1);
  const Recomputed preferred = recompute(
      own_policy({RegionPolicy::Kind::none, {}}, [](Tracer& tracer, const Tensor& h) { tracer.tag(h, TagKind::prefer_recompute); }),
      "tags");
  EXPECT_EQ(preferred.count(op::exp, Phase::recompute), 1);
}

TEST(Tags, OfAViewThatIsViewedAgainSpeakOfItsStorage) {
  const auto tagged = [](TagKind kind) {
    return joint_of([kind](Tracer& tracer) {
      const Linear linear(8, 8, true, kSmall);
      const Tensor h = linear(batch_input(tracer, {4, 8})).tanh();
      const Tensor flat = h.reshape({32});
      tracer.tag(flat, kind);
      tracer.output(flat.reshape({4, 8}).tanh().square().sum());
    });
  };
  EXPECT_FALSE(recompute(tagged(TagKind::must_recompute), "tags").keeps("tanh"));
  EXPECT_FALSE(recompute(tagged(TagKind::prefer_recompute), "tags").keeps("tanh"));
  EXPECT_TRUE(recompute(tagged(TagKind::must_save), "auto").keeps("tanh"));
  EXPECT_USER_ERROR(recompute(tagged(TagKind::offload), "tags"), "this device's memory is the host's");
}

TEST(Tags, AreStrongerThanListsOfWhatNothingReads) {
  const auto held = [](bool tagged) {
    RecomputeOptions options;
    options.policy = parse_policy("tags");
    options.early_stop = false;
    options.compat_eager = true;
    const Recomputed result = recompute(joint_of([&](Tracer& tracer) {
      const Linear linear(8, 16, false, kSmall);
      const Tensor x = batch_input(tracer, {4, 8});
      const Tensor y = checkpoint(tracer, "body", [&] {
        const Tensor h = linear(x) + 1.0;  // on the list, and backward does not read it
        if (tagged) tracer.tag(h, TagKind::must_recompute);
        return h * 2.0;
      }, {RegionPolicy::Kind::ops, {"add_scalar"}});
      tracer.output(y.square().sum());
    }), options);
    const std::vector<SavedEntry>& saved = result.plan.saved;
    return std::any_of(saved.begin(), saved.end(), [](const SavedEntry& entry) { return entry.how == SavedEntry::How::hold; });
  };
  EXPECT_TRUE(held(false));
  EXPECT_FALSE(held(true));
}

TEST(Tags, ContradictionsNameBothSources) {
  const auto contradiction = [](Tracer& tracer, const Tensor& h) {
    tracer.tag(h, TagKind::must_save, "the cache");
    tracer.tag(h.reshape({64}), TagKind::must_recompute, "the trainer");
    tracer.output(h.reshape({64}).sum());
  };
  EXPECT_USER_ERROR(recompute(own_policy({}, contradiction), "tags"), "must_save by the cache");
  EXPECT_USER_ERROR(recompute(own_policy({}, contradiction), "tags"), "must_recompute by the trainer");
  EXPECT_NO_THROW(recompute(own_policy({}, contradiction), "none"));
  const auto on_one_value = [](Tracer& tracer, const Tensor& h) {
    tracer.tag(h, TagKind::must_save, "A");
    tracer.tag(h, TagKind::must_recompute, "B");
  };
  for (const char* policy : {"tags", "auto", "full"}) {
    EXPECT_USER_ERROR(recompute(own_policy({}, on_one_value), policy),
                      "tags contradict each other: %exp is must_save by A, and must_recompute by B; remove one of them");
  }
  EXPECT_NO_THROW(recompute(own_policy({}, on_one_value), "none"));
}

TEST(Tags, WhatCannotBeIsRefused) {
  EXPECT_USER_ERROR(recompute(own_policy({}, [](Tracer& tracer, const Tensor& h) { tracer.tag(h, TagKind::offload); }), "tags"),
                    "this device's memory is the host's");
  const auto with_input = [](bool parameter) {
    return joint_of([parameter](Tracer& tracer) {
      const Linear linear(8, 16, false, kSmall);
      const Tensor x = batch_input(tracer, {4, 8});
      const Tensor y = linear(x);
      tracer.tag(parameter ? tracer.parameter(linear.weight) : x, TagKind::must_recompute);
      tracer.output(y.square().sum());
    });
  };
  for (const bool parameter : {false, true}) {
    EXPECT_USER_ERROR(recompute(with_input(parameter), "auto"),
                      "is must_recompute by user, but it is an input of the step, which nothing makes; remove the tag");
  }
}

TEST(Auto, KeepsViewsAsCopiesWhereThatIsSmaller) {
  const Recomputed result = recompute(joint_of([](Tracer& tracer) {
    const Linear wide(512, 96, false, kSmall);
    const Linear narrow(32, 8, false, kSmall);
    const Tensor h = wide(batch_input(tracer, {4, 512}));
    tracer.output(narrow(h.slice(-1, 64, 96)).square().sum());
  }), "auto");
  const std::int64_t slice = 4 * 32 * 4;
  EXPECT_EQ(result.saved_bytes(), slice + 4 * 8 * 4) << "the slice and the last product\n" << result.plan.str();
}

}  // namespace
}  // namespace reprise::test

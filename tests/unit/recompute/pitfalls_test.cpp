// SPDX-License-Identifier: Apache-2.0
// Situations in which other systems were found to go wrong, each with what must hold.
#include <gtest/gtest.h>

#include "support/recompute_models.h"

namespace reprise::test {
namespace {

TEST(Pitfalls, DropoutBetweenTwoLinearsHasTheSameBitsUnderEveryPolicy) {
  const ClaimedTrace joint = joint_of([](Tracer& tracer) {
    const Linear first(16, 16, true, kSmall);
    const Linear second(16, 16, true, kSmall);
    const Tensor x = batch_input(tracer, {8, 16});
    const Tensor y = checkpoint(tracer, "block", [&] { return second(first(x).dropout(0.5)); });
    tracer.output(y.square().sum());
  });
  for (const char* policy : {"none", "full", "ops", "alternate", "layers:1", "auto", "tags", "regions:*"}) {
    const Recomputed result = recompute(joint, policy);  // compares the bits
    if (policy == std::string_view("regions:*")) continue;  // as none: what the second product reads is kept
    for (const SavedEntry& entry : result.plan.saved) {
      const Trace& trace = result.claimed.trace;
      EXPECT_NE(trace[trace[trace.find(entry.value)].producer].opcode, op::philox_dropout) << "a mask is not kept";
    }
  }
}

TEST(Pitfalls, ARegionThatEndsInAProductAndAReductionDoesNotRunTheProductAgain) {
  const Recomputed result = recompute(joint_of([](Tracer& tracer) {
    const Linear first(16, 16, false, kSmall);
    const Linear last(16, 16, false, kSmall);
    const Tensor x = batch_input(tracer, {8, 16});
    tracer.output(checkpoint(tracer, "block", [&] { return last(first(x).silu()).sum(); }));
  }), "tags");
  EXPECT_EQ(result.count(op::linear, Phase::recompute), 1) << "first alone";
}

TEST(Pitfalls, ACounterInARegionCountsOnce) {
  const Recomputed result = recompute(joint_of([](Tracer& tracer) {
    const Linear linear(16, 16, false, kSmall);
    const Tensor x = batch_input(tracer, {8, 16});
    const Tensor counter = tracer.input("counter", {DType::float32, {}, Device::cpu}, Role::state);
    Tensor counted = counter;
    const Tensor y = checkpoint(tracer, "block", [&] {
      counted = counted + 1.0;
      const Tensor h = linear(x).exp();
      counted = counted + 100.0;
      return h.tanh();
    });
    tracer.output(y.square().sum());
    tracer.output(counted);
    tracer.donate(counter, counted);
  }), "tags");
  EXPECT_EQ(result.count(op::add_scalar, Phase::recompute), 0);
  EXPECT_EQ(result.count(op::exp, Phase::recompute), 1);
}

TEST(Pitfalls, AnInPlaceOpOnAProductThatIsKept) {
  const Recomputed result = recompute(joint_of([](Tracer& tracer) {
    const Linear linear(16, 16, false, kSmall);
    const Linear other(16, 16, false, kSmall);
    const Tensor x = batch_input(tracer, {8, 16});
    const Tensor y = checkpoint(tracer, "block", [&] {
      Tensor h = linear(x);
      const Tensor s = h.sigmoid();
      h.mul_(2.0);
      return other(h) * s;
    }, {RegionPolicy::Kind::ops, {"linear"}});
    tracer.output(y.square().sum());
  }), "tags");
  EXPECT_EQ(result.count(op::linear, Phase::recompute), 0);
}

/// The gradients of f(x w) in a region, with what `f` saved changed after; `functional`: with a new value instead of the change.
std::vector<HostTensor> with_saved_changed(bool input_changes, bool functional, const std::string& policy) {
  const Recomputed result = recompute(joint_of([&](Tracer& tracer) {
    const Linear linear(16, 16, false, kSmall);
    const Tensor x = batch_input(tracer, {8, 16});
    const Tensor y = checkpoint(tracer, "block", [&] {
      Tensor h = linear(x);
      Tensor z = input_changes ? square_saving_input(h) : exp_saving_output(h);
      Tensor& changed = input_changes ? h : z;
      if (functional) changed = changed + 1.0;
      else changed.add_(1.0);
      return z.sigmoid() * h;
    });
    tracer.output(y.square().sum());
  }), policy);
  return interpret(result.applied.trace, random_inputs(result.applied.trace, 3));
}

TEST(Pitfalls, ACustomFunctionWhoseSavedTensorIsChangedInPlaceHasRightGradients) {
  for (const bool input_changes : {true, false}) {
    const std::vector<HostTensor> expected = with_saved_changed(input_changes, true, "none");
    for (const char* policy : {"none", "tags", "full", "ops", "auto"}) {
      const std::vector<HostTensor> found = with_saved_changed(input_changes, false, policy);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t o = 0; o < found.size(); ++o) {
        EXPECT_TRUE(equal_bytes(found[o].bytes(), expected[o].bytes())) << policy << ", output " << o;
      }
    }
  }
}

TEST(Pitfalls, TheOneElementOfAnAbsoluteMaximumIsKept) {
  const Recomputed result = recompute(joint_of([](Tracer& tracer) {
    const Linear linear(8192, 8192, false, kSmall);
    const Tensor x = batch_input(tracer, {1, 8192});
    const Tensor y = checkpoint(tracer, "block", [&] {
      const Tensor w = tracer.parameter(linear.weight);
      const Tensor scale{tracer, ops::reduce(tracer.builder(), op::amax, w.unary(op::abs).id())};
      return linear(x) / scale;
    }, {RegionPolicy::Kind::ops, {"default"}});
    tracer.output(y.square().sum());
  }), "tags", false);
  EXPECT_EQ(result.count(op::amax, Phase::recompute), 0);
}

TEST(Pitfalls, OneWeightUsedTwiceInLowPrecisionIsCastOnce) {
  const Recomputed result = recompute(joint_of([](Tracer& tracer) {
    const Linear linear(16, 16, false, kSmall);
    const Tensor x = batch_input(tracer, {8, 16});
    const Tensor y = checkpoint(tracer, "block", [&] {
      const Tensor w = tracer.parameter(linear.weight);
      const Tensor low = x.cast(DType::bfloat16);
      const Tensor first = low.matmul(w.cast(DType::bfloat16), false, true);
      const Tensor second = first.silu().matmul(w.cast(DType::bfloat16), false, true);
      return second.cast(DType::float32).sigmoid();
    });
    tracer.output(y.square().sum());
  }), "tags");
  int casts = 0;
  const Trace& trace = result.applied.trace;
  for (const Node& node : trace.nodes) {
    casts += node.opcode == op::cast && node.phase == Phase::recompute && node.inputs[0] == trace.find("weight");
  }
  EXPECT_LE(casts, 1);
}

TEST(Pitfalls, ARouterThatSeesOnlyTiesChoosesTheSameExpertsInForwardAndBackward) {
  const ClaimedTrace joint = joint_of([](Tracer& tracer) {
    const Linear router(16, 4, false, kSmall);
    const Linear expert(16, 16, false, kSmall);
    const Tensor x = batch_input(tracer, {8, 16});
    const Tensor y = checkpoint(tracer, "block", [&] {
      const auto chosen = ops::topk(tracer.builder(), (router(x) * 0.0).id(), 2);  // every score ties
      const Tensor weight = Tensor{tracer, chosen.values}.softmax(-1);
      const Tensor all = expert(x).silu();
      const Tensor first = all.gather(1, {tracer, chosen.indices});
      return first * weight;
    });
    tracer.output(y.square().sum());
  });
  for (const char* policy : {"tags", "full", "ops", "alternate", "layers:1", "regions:*", "auto"}) {
    const Recomputed result = recompute(joint, policy);  // compares the bits
    EXPECT_EQ(result.count(op::topk, Phase::recompute), 0) << policy;
    const Trace& trace = result.applied.trace;
    for (const Node& node : trace.nodes) {
      if (node.opcode != op::topk) continue;
      EXPECT_TRUE(result.keeps(trace[node.outputs[1]].name)) << policy << ": what was chosen is kept";
    }
  }
}

}  // namespace
}  // namespace reprise::test

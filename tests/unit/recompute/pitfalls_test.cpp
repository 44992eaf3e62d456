// SPDX-License-Identifier: Apache-2.0
// Situations in which other systems were found to go wrong, each with what must hold.
#include <gtest/gtest.h>

#include "nn/checkpoint.h"
#include "nn/layers.h"
#include "ops/builders.h"
#include "support/expect_error.h"
#include "support/recompute_case.h"

namespace reprise {
namespace {

using test::joint_of;
using test::Recomputed;
using test::recompute;

const Initializer kInit = Initializer::normal(0.02);

Tensor input(Tracer& tracer, const Shape& shape) { return tracer.input("x", {DType::float32, shape, Device::cpu}, Role::batch); }

TEST(Pitfalls, DropoutBetweenTwoLinearsHasTheSameBitsUnderEveryPolicy) {
  const ClaimedTrace joint = joint_of([](Tracer& tracer) {
    const Linear first(16, 16, true, kInit);
    const Linear second(16, 16, true, kInit);
    const Tensor x = input(tracer, {8, 16});
    const Tensor y = checkpoint(tracer, "block", [&] { return second(first(x).dropout(0.5)); });
    tracer.output(y.square().sum());
  });
  for (const char* policy : {"none", "full", "ops", "alternate", "layers:1", "auto", "tags", "regions:*"}) {
    const Recomputed result = recompute(joint, policy);  // compares the bits
    for (const SavedEntry& entry : result.plan.saved) {
      const Trace& trace = result.claimed.trace;
      EXPECT_NE(trace[trace[trace.find(entry.value)].producer].opcode, op::philox_dropout) << "a mask is not kept";
    }
  }
}

TEST(Pitfalls, ARegionThatEndsInAProductAndAReductionDoesNotRunTheProductAgain) {
  const Recomputed result = recompute(joint_of([](Tracer& tracer) {
    const Linear first(16, 16, false, kInit);
    const Linear last(16, 16, false, kInit);
    const Tensor x = input(tracer, {8, 16});
    tracer.output(checkpoint(tracer, "block", [&] { return last(first(x).silu()).sum(); }));
  }), "tags");
  EXPECT_EQ(result.count(op::linear, Phase::recompute), 1) << "first alone";
}

TEST(Pitfalls, ACounterInARegionCountsOnce) {
  const Recomputed result = recompute(joint_of([](Tracer& tracer) {
    const Linear linear(16, 16, false, kInit);
    const Tensor x = input(tracer, {8, 16});
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
    const Linear linear(16, 16, false, kInit);
    const Linear other(16, 16, false, kInit);
    const Tensor x = input(tracer, {8, 16});
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

TEST(Pitfalls, TheOneElementOfAnAbsoluteMaximumIsKept) {
  const Recomputed result = recompute(joint_of([](Tracer& tracer) {
    const Linear linear(8192, 8192, false, kInit);
    const Tensor x = input(tracer, {1, 8192});
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
    const Linear linear(16, 16, false, kInit);
    const Tensor x = input(tracer, {8, 16});
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
  for (const Node& node : result.applied.trace.nodes) casts += node.opcode == op::cast && node.phase == Phase::recompute && node.inputs[0] == result.applied.trace.find("weight");
  EXPECT_LE(casts, 1);
}

TEST(Pitfalls, RoutingIsDecidedOnce) {
  const Recomputed result = recompute(joint_of([](Tracer& tracer) {
    const Linear router(16, 4, false, kInit);
    const Linear expert(16, 16, false, kInit);
    const Tensor x = input(tracer, {8, 16});
    const Tensor y = checkpoint(tracer, "block", [&] {
      const auto chosen = ops::topk(tracer.builder(), (router(x) * 0.0).id(), 2);  // every score ties
      const Tensor weight = Tensor{tracer, chosen.values}.softmax(-1).slice(-1, 0, 1);
      return expert(x).silu() * weight;
    });
    tracer.output(y.square().sum());
  }), "tags");
  EXPECT_EQ(result.count(op::topk, Phase::recompute), 0);
}

/// `layers` blocks of a linear, a norm and a GELU, traversed `rounds` times, each a region.
ClaimedTrace stack(int layers, int rounds) {
  return joint_of([&](Tracer& tracer) {
    struct Layer : Module {
      Layer() {
        linear = add_module("linear", Linear(64, 64, true, kInit));
        norm = add_module("norm", LayerNorm(64, 1e-5, true, true));
      }
      Tensor operator()(const Tensor& x) const { return norm(linear(x)).gelu(); }
      Linear linear;
      LayerNorm norm;
    };
    std::vector<Layer> all(static_cast<std::size_t>(layers));
    Tensor x = input(tracer, {32, 64});
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < layers; ++i) {
        const Tracer::Scope module = tracer.module(std::to_string(i));
        x = checkpoint(tracer, "layer" + std::to_string(i), [&] { return all[static_cast<std::size_t>(i)](x); });
      }
    }
    tracer.output(x.square().sum());
  });
}

TEST(Pitfalls, FiveRegionsOfLinearNormAndGeluNeedLessThanAllSaved) {
  const Recomputed none = recompute(stack(5, 1), "none", false);
  const Recomputed full = recompute(stack(5, 1), "tags");
  EXPECT_LT(test::transient_bytes(full.applied), test::transient_bytes(none.applied));
}

TEST(Pitfalls, BlocksTraversedTwiceNeedAFirstInputEachAndOneBlockAtATime) {
  const std::int64_t activation = 32 * 64 * 4;
  const std::int64_t one = test::transient_bytes(recompute(stack(1, 1), "tags", false).applied);
  const std::int64_t twice = test::transient_bytes(recompute(stack(12, 2), "tags", false).applied);
  const std::int64_t gradients = 11 * (64 * 64 + 3 * 64) * 4;  // of the parameters, beyond those of one block
  EXPECT_LE(twice, one + 23 * activation + gradients + 4096);
}

}  // namespace
}  // namespace reprise

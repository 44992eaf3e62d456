// SPDX-License-Identifier: Apache-2.0
// Cotangents of slices: joined where they lie apart, added where they overlap, and the right numbers in every case.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "autograd/differentiate.h"
#include "interpreter/interpreter.h"
#include "ops/builders.h"
#include "ops/verifier.h"

namespace reprise {
namespace {

struct Range {
  std::int64_t dim, start, stop;
};

constexpr std::int64_t kRows = 5;
constexpr std::int64_t kColumns = 7;

/// The joint trace of the sum over ranges r of (r + 1) sum(x[range]), and of sum(x) too when `whole`. x: float64 [5, 7].
JointTrace joint_of(const std::vector<Range>& ranges, bool whole) {
  Trace trace;
  Builder b(trace);
  const ValueId x = trace.add_input({DType::float64, Shape{kRows, kColumns}, Device::cpu}, Role::batch, "x");
  ValueId loss = ops::full(b, Shape{}, DType::float64, 0);
  const auto add = [&](ValueId part, double factor) { loss = ops::add(b, loss, ops::sum(b, ops::mul_scalar(b, part, factor))); };
  b.context.module = "split";
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    add(ops::slice(b, x, ranges[r].dim, ranges[r].start, ranges[r].stop), static_cast<double>(r + 1));
  }
  b.context.module = {};
  if (whole) add(x, 100);
  trace.outputs = {loss};
  JointTrace joint = differentiate(trace, std::span(&x, 1));
  verify_or_throw(joint.trace, "the test");
  return joint;
}

/// The gradient written out: small whole numbers, exact in any order.
std::vector<double> expected_gradient(const std::vector<Range>& ranges, bool whole) {
  std::vector<double> gradient;
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < kColumns; ++j) {
      double sum = whole ? 100 : 0;
      for (std::size_t r = 0; r < ranges.size(); ++r) {
        const std::int64_t at = ranges[r].dim == 0 ? i : j;
        if (at >= ranges[r].start && at < ranges[r].stop) sum += static_cast<double>(r + 1);
      }
      gradient.push_back(sum);
    }
  }
  return gradient;
}

std::vector<double> gradient_of(const JointTrace& joint) {
  const std::vector<double> zeros(static_cast<std::size_t>(kRows * kColumns));
  return interpret(joint.trace, std::vector<HostTensor>{HostTensor::of<double>(Shape{kRows, kColumns}, zeros)}).at(1).numbers();
}

std::int64_t count(const JointTrace& joint, Opcode opcode) {
  return std::count_if(joint.trace.nodes.begin(), joint.trace.nodes.end(),
                       [&](const Node& node) { return node.opcode == opcode && node.phase == Phase::backward; });
}

struct Found {
  std::int64_t cats, pads, adds;
  friend bool operator==(const Found&, const Found&) = default;
  friend void PrintTo(const Found& found, std::ostream* stream) {
    *stream << found.cats << " cats, " << found.pads << " pads, " << found.adds << " adds";
  }
};

Found emitted(const std::vector<Range>& ranges, bool whole = false) {
  const JointTrace joint = joint_of(ranges, whole);
  EXPECT_EQ(gradient_of(joint), expected_gradient(ranges, whole));
  return {count(joint, op::cat), count(joint, op::pad), count(joint, op::add)};
}

TEST(SliceCotangents, PartsOfOneDimensionAreJoined) {
  EXPECT_EQ(emitted({{1, 0, 2}, {1, 2, 3}, {1, 3, 7}}), (Found{1, 0, 0}));
  EXPECT_EQ(emitted({{1, 3, 7}, {1, 0, 2}, {1, 2, 3}}), (Found{1, 0, 0}));
  EXPECT_EQ(emitted({{0, 1, 5}, {0, 0, 1}}), (Found{1, 0, 0}));
  EXPECT_EQ(emitted({{-1, 0, 3}, {1, 3, 7}}), (Found{1, 0, 0}));
}

TEST(SliceCotangents, GapsAreZero) {
  EXPECT_EQ(emitted({{1, 1, 2}, {1, 4, 6}}), (Found{1, 0, 0}));
  EXPECT_EQ(emitted({{0, 0, 1}, {0, 4, 5}}), (Found{1, 0, 0}));
}

TEST(SliceCotangents, OnePartIsPadded) { EXPECT_EQ(emitted({{1, 2, 4}}), (Found{0, 1, 0})); }

TEST(SliceCotangents, WhatOverlapsIsAdded) {
  EXPECT_EQ(emitted({{1, 0, 4}, {1, 3, 7}}), (Found{0, 2, 1}));
  EXPECT_EQ(emitted({{1, 0, 4}, {0, 0, 4}}), (Found{0, 2, 1}));
  EXPECT_EQ(emitted({{1, 0, 4}, {1, 4, 7}, {1, 2, 5}, {1, 2, 5}}), (Found{0, 4, 3}));
}

TEST(SliceCotangents, OtherReadersAreAddedToTheJoin) { EXPECT_EQ(emitted({{1, 0, 4}, {1, 4, 7}}, true), (Found{1, 0, 1})); }

TEST(SliceCotangents, TheJoinBelongsToTheModuleThatSplits) {
  const JointTrace joint = joint_of({{1, 0, 4}, {1, 4, 7}}, false);
  const auto join =
      std::find_if(joint.trace.nodes.begin(), joint.trace.nodes.end(), [](const Node& node) { return node.opcode == op::cat; });
  ASSERT_NE(join, joint.trace.nodes.end());
  EXPECT_EQ(join->module, Interned("split"));
  const std::vector<Tag>& tags = joint.trace[join->outputs[0]].tags;
  ASSERT_EQ(tags.size(), 1U);
  EXPECT_EQ(tags[0].kind, TagKind::prefer_recompute);
  EXPECT_EQ(tags[0].source, Interned("autograd"));
}

TEST(SliceCotangents, AreRightForRangesAtRandom) {
  std::mt19937 random(11);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(n)); };
  for (int round = 0; round < 300; ++round) {
    std::vector<Range> ranges(static_cast<std::size_t>(1 + below(5)));
    const bool mixed = below(4) == 0;
    for (Range& range : ranges) {
      range.dim = mixed ? below(2) : 1;
      const std::int64_t size = range.dim == 0 ? kRows : kColumns;
      range.start = below(size + 1);
      range.stop = range.start + below(size - range.start + 1);  // may be empty, may be all
    }
    const bool whole = below(3) == 0;
    EXPECT_EQ(gradient_of(joint_of(ranges, whole)), expected_gradient(ranges, whole)) << "round " << round;
  }
}

}  // namespace
}  // namespace reprise

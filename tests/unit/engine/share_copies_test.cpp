// SPDX-License-Identifier: Apache-2.0
// Backward reads a value through the copy that is kept anyway, or as it is where it cannot.
#include "executor/share_copies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "analysis/saved.h"
#include "base/bytes.h"
#include "interpreter/interpreter.h"
#include "interpreter/random_inputs.h"
#include "nn/tracer.h"
#include "ops/builders.h"
#include "support/recompute_case.h"

namespace reprise {
namespace {

using test::clean_joint;

/// y = exp(x) [4, 3, 5], whose backward reads y; then y permuted, joined and multiplied by w, whose gradient reads that.
Trace joint(bool trains_w, bool returns_y, std::optional<TagKind> tag = {}) {
  Tracer tracer("step");
  const Tensor x = tracer.input("x", {DType::float32, {4, 3, 5}}, Role::param);
  const Tensor w = tracer.input("w", {DType::float32, {7, 20}}, Role::param);
  const Tensor y = tracer.named(x.exp(), "y");
  if (tag) tracer.tag(y, *tag);
  const Tensor joined = y.permute({1, 2, 0}).reshape({3, 20});
  tracer.output(Tensor(tracer, ops::linear(tracer.builder(), joined.id(), w.id())).sum());
  if (returns_y) tracer.output(y);
  return clean_joint(std::move(tracer).finish().trace, trains_w ? "*" : "x");
}

ClaimedTrace claimed(const Trace& trace) { return claim_trace(trace, test::reference_only(), Target{}, 1); }

bool shares(const ClaimedTrace& claimed) {
  return std::any_of(claimed.trace.values.begin(), claimed.trace.values.end(), [](const Value& value) { return value.name == "y.shared"; });
}

TEST(ShareCopies, BackwardReadsTheCopyThatIsKeptAnyway) {
  const Trace trace = joint(true, false);
  const ClaimedTrace before = claimed(trace);
  const ClaimedTrace after = share_copies(before);
  EXPECT_TRUE(shares(after));
  EXPECT_EQ(after.trace.nodes.size(), before.trace.nodes.size() + 1);
  EXPECT_EQ(after.claims.size(), after.trace.nodes.size());
  EXPECT_EQ(saved_for_backward(before.trace).bytes, 2 * 60 * 4);
  EXPECT_EQ(saved_for_backward(after.trace).bytes, 60 * 4);
  EXPECT_EQ(share_copies(after), after);
  const std::vector<HostTensor> inputs = random_inputs(trace, 1, 4);
  const std::vector<HostTensor> expected = interpret(before.trace, inputs);
  const std::vector<HostTensor> found = interpret(after.trace, inputs);
  ASSERT_EQ(found.size(), 3U);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(equal_bytes(found[i].bytes(), expected[i].bytes())) << i;
}

TEST(ShareCopies, NothingChangesWhereItWouldKeepNoLess) {
  for (const bool trains_w : {false, true}) {
    const ClaimedTrace before = claimed(joint(trains_w, trains_w));  // the copy is not read again, or the value stays as an output
    EXPECT_EQ(share_copies(before), before);
  }
}

TEST(ShareCopies, ATagSpeaksOfTheValueAndNotOfItsCopy) {
  for (const TagKind kind : {TagKind::must_save, TagKind::must_recompute}) {
    const ClaimedTrace before = claimed(joint(true, false, kind));
    EXPECT_EQ(share_copies(before), before);
    const test::Recomputed result = test::recompute(before, "tags");
    EXPECT_EQ(result.keeps("y"), kind == TagKind::must_save);
    EXPECT_EQ(result.count(op::exp, Phase::recompute), kind == TagKind::must_recompute ? 1 : 0);
    EXPECT_TRUE(result.warnings.empty()) << result.warnings[0];
  }
}

TEST(ShareCopies, ReadersThatNeedDenseArraysKeepTheirValue) {
  ClaimedTrace before = claimed(joint(true, false));
  for (Claim& claim : before.claims) claim.layouts.clear();
  EXPECT_EQ(share_copies(before), before);
}

}  // namespace
}  // namespace reprise

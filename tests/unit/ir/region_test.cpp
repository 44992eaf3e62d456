// SPDX-License-Identifier: Apache-2.0
#include "ir/region.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace reprise {
namespace {

TEST(Region, PathsSplitIntoSegmentsWithTheirPolicies) {
  const std::vector<RegionSegment> segments = split_region("block3/attn=ops(linear,topk)/core=full");
  ASSERT_EQ(segments.size(), 3U);
  EXPECT_EQ(segments[0].name, "block3");
  EXPECT_FALSE(segments[0].policy);
  EXPECT_EQ(segments[1].path, "block3/attn=ops(linear,topk)");
  EXPECT_EQ(*segments[1].policy, (RegionPolicy{RegionPolicy::Kind::ops, {"linear", "topk"}}));
  EXPECT_EQ(segments[2].policy->kind, RegionPolicy::Kind::full);
  EXPECT_EQ(region_names("block3/attn=ops(linear,topk)/core=full"), "block3/attn/core");
  EXPECT_TRUE(split_region("").empty());
}

TEST(Region, PoliciesPrintAndParse) {
  for (const char* text : {"none", "full", "ops", "ops(a,b)", "alternate", "alternate(*.gate)"}) EXPECT_EQ(parse_region_policy(text).str(), text);
  EXPECT_USER_ERROR(parse_region_policy("ful"), "a region's policy is step, none, full, ops or alternate, not 'ful'; did you mean \"full\"?");
  EXPECT_USER_ERROR(parse_region_policy("full(a)"), "reads ops(NAME,...) or alternate(GLOB,...), not 'full(a)'");
  EXPECT_USER_ERROR(parse_region_policy("ops(a,)"), "a name is missing");
  EXPECT_USER_ERROR(region_segment("a/b", {}), "holds no '/' and no '=': 'a/b'");
}

TEST(Region, SharedSegmentsAreWhole) {
  EXPECT_EQ(shared_segments("a/b/c", "a/b/d"), 2U);
  EXPECT_EQ(shared_segments("block1", "block12"), 0U);
  EXPECT_EQ(shared_segments("a/b", "a/b/c"), 2U);
  EXPECT_EQ(shared_segments("a=ops(x,y)/b", "a=ops(x,y)"), 1U);
  EXPECT_EQ(shared_segments("", "a"), 0U);
}

}  // namespace
}  // namespace reprise

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
  for (const char* text : {"none", "full", "ops", "ops(a,b)", "alternate", "alternate(*.gate)"}) {
    EXPECT_EQ(parse_region_policy(text).str(), text);
  }
  EXPECT_USER_ERROR(parse_region_policy("ful"),
                    "a region's policy is step, none, full, ops or alternate, not 'ful'; did you mean \"full\"?");
  EXPECT_USER_ERROR(parse_region_policy("full(a)"), "reads ops(NAME,...) or alternate(GLOB,...), not 'full(a)'");
  EXPECT_USER_ERROR(parse_region_policy("ops(a,)"), "a name is missing");
  EXPECT_USER_ERROR(region_segment("a/b", {}), "holds no '/' and no '=': 'a/b'");
}

TEST(Region, NamesMayHoldParentheses) {
  for (const std::string name : {"a(", ")", "f(x)", ")("}) {
    const std::string path =
        region_segment(name, {}) + "/" + region_segment("in" + name, RegionPolicy{RegionPolicy::Kind::alternate, {"h/*"}}) + "/core";
    const std::vector<RegionSegment> segments = split_region(path);
    ASSERT_EQ(segments.size(), 3U) << path;
    EXPECT_EQ(segments[1].name, "in" + name);
    EXPECT_EQ(region_names(path), name + "/in" + name + "/core");
    EXPECT_EQ(shared_segments(path, name + "/x"), 1U);
  }
}

TEST(Region, PoliciesThatWouldNotReadBackAreRefused) {
  using Kind = RegionPolicy::Kind;
  for (const char* name : {"", "a,b", "a(", "b)"}) {
    EXPECT_USER_ERROR(region_segment("r", RegionPolicy{Kind::ops, {"linear", name}}),
                      "a name in the policy of region r is not empty and holds no ','");
  }
  EXPECT_USER_ERROR(region_segment("r", RegionPolicy{Kind::full, {"linear"}}),
                    "the policy full of region r takes no names; leave them out, or choose ops or alternate: linear");
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

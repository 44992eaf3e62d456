// SPDX-License-Identifier: Apache-2.0
#include "io/json_view.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace reprise {
namespace {

TEST(JsonView, ReadsByKeyAndIndex) {
  const Json json = parse_json(R"({"a": {"b": [1, 2.5, "x", true]}, "none": null})", "t");
  const JsonView view(json, "config.json");
  const JsonView list = view.at("a").at("b");
  EXPECT_EQ(list.size(), 4u);
  EXPECT_EQ(list.item(0).integer(), 1);
  EXPECT_EQ(list.item(0).number(), 1.0);
  EXPECT_EQ(list.item(1).number(), 2.5);
  EXPECT_EQ(list.item(2).string(), "x");
  EXPECT_TRUE(list.item(3).boolean());
  EXPECT_EQ(list.item(3).where(), "config.json: a.b[3]");
  EXPECT_EQ(view.where(), "config.json");
  EXPECT_FALSE(view.find("none").has_value());
  EXPECT_FALSE(view.find("missing").has_value());
  EXPECT_TRUE(view.find("a")->json().is_object());
}

TEST(JsonView, ErrorsSayWhere) {
  const Json json = parse_json(R"({"a": {"b": ["x", null]}, "n": 1.5, "s": ")" + std::string(100, 'y') + "\"}", "t");
  const JsonView view(json, "config.json");
  EXPECT_USER_ERROR(view.at("n_layers"), "config.json: key \"n_layers\" is missing; add it");
  EXPECT_USER_ERROR(view.at("a").at("c"), "config.json: a: key \"c\" is missing");
  EXPECT_USER_ERROR(view.at("n").find("c"), "config.json: n: must be an object, not 1.5");
  EXPECT_USER_ERROR(view.at("n").integer(), "config.json: n: must be an integer, not 1.5");
  EXPECT_USER_ERROR(view.at("a").at("b").item(0).number(), "config.json: a.b[0]: must be a number, not \"x\"");
  EXPECT_USER_ERROR(view.at("a").at("b").item(1).boolean(), "must be a boolean, not null");
  EXPECT_USER_ERROR(view.at("a").string(), "config.json: a: must be a string, not an object");
  EXPECT_USER_ERROR(view.at("a").size(), "must be an array, not an object");
  EXPECT_USER_ERROR(view.at("s").integer(), "yyy...");
  EXPECT_USER_ERROR(view.at("n").fail("must be positive, not 1.5"), "config.json: n: must be positive, not 1.5");
  EXPECT_INTERNAL_ERROR(view.at("a").at("b").item(2), "item 2 of 2");
}

}  // namespace
}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Views, data movement and indexing against PyTorch's values and gradients.
#include <gtest/gtest.h>

#include "reference/op_cases.h"
#include "support/reference_data.h"

namespace reprise::test {
namespace {

Ints integers(const Json* list) {
  Ints result;
  for (const Json& item : list->items()) result.push_back(item.integer());
  return result;
}

TEST(ReferenceViews, EveryCase) {
  REPRISE_NEEDS_REFERENCE("ops/views.safetensors");
  OpCases cases("views");
  const auto ints = [&](const std::string& name, const char* key) { return integers(cases.attribute(name, key)); };
  const auto integer = [&](const std::string& name, const char* key) { return cases.integer(name, key); };
  for (const std::string name : {"slice", "slice_step", "slice_empty"}) {
    cases.check(name, one([&](Builder& b, ValueId x) {
                  const std::int64_t dim = integer(name, "dim");
                  const Json* const stop = cases.attribute(name, "stop");
                  const std::int64_t end =
                      stop != nullptr && !stop->is_null() ? stop->integer() : b.shape(x)[static_cast<std::size_t>(dim)];
                  return ops::slice(b, x, dim, integer(name, "start"), end, integer(name, "step"));
                }));
  }
  cases.check("select",
              one([&](Builder& b, ValueId x) { return ops::select(b, x, integer("select", "dim"), integer("select", "index")); }));
  for (const std::string name : {"cat_0", "cat_last_three"}) {
    cases.check(name, [&](Builder& b, const Ids& in) -> Ids { return {ops::cat(b, in, integer(name, "dim"))}; });
  }
  cases.check("cat_same_twice", one([](Builder& b, ValueId x) { return ops::cat(b, {x, x}, 0); }));
  cases.check("stack", [&](Builder& b, const Ids& in) -> Ids { return {ops::stack(b, in, integer("stack", "dim"))}; });
  cases.check("split",
              [&](Builder& b, const Ids& in) -> Ids { return ops::split(b, in[0], integer("split", "dim"), ints("split", "sizes")); });
  cases.check("permute", one([&](Builder& b, ValueId x) { return ops::permute(b, x, ints("permute", "order")); }));
  cases.check("transpose", one([&](Builder& b, ValueId x) {
                const Ints dims = ints("transpose", "dims");
                return ops::transpose(b, x, dims[0], dims[1]);
              }));
  cases.check("reshape", one([&](Builder& b, ValueId x) { return ops::reshape(b, x, Shape(ints("reshape", "shape"))); }));
  cases.check("expand", one([&](Builder& b, ValueId x) { return ops::expand(b, x, Shape(ints("expand", "shape"))); }), {.length = 20});
  cases.check("squeeze_unsqueeze", one([](Builder& b, ValueId x) { return ops::unsqueeze(b, ops::squeeze(b, x, {1}), {-1}); }));
  cases.check("flip", one([&](Builder& b, ValueId x) { return ops::flip(b, x, ints("flip", "dims")); }));
  cases.check("roll", one([&](Builder& b, ValueId x) { return ops::roll(b, x, integer("roll", "shift"), integer("roll", "dim")); }));
  cases.check("repeat", one([&](Builder& b, ValueId x) { return ops::repeat(b, x, ints("repeat", "repeats")); }), {.length = 6});
  cases.check("repeat_interleave", one([&](Builder& b, ValueId x) {
                return ops::repeat_interleave(b, x, integer("repeat_interleave", "repeats"), integer("repeat_interleave", "dim"));
              }),
              {.length = 3});
  cases.check("pad", one([&](Builder& b, ValueId x) {
                const Ints pad = ints("pad", "pad");  // the last dimension first, as PyTorch has it
                return ops::pad(b, x, {pad[2], pad[0]}, {pad[3], pad[1]}, cases.number("pad", "value"));
              }));
  cases.check("unfold", one([&](Builder& b, ValueId x) {
                return ops::unfold(b, x, integer("unfold", "dim"), integer("unfold", "size"), integer("unfold", "step"));
              }));
  cases.check("diagonal", one([&](Builder& b, ValueId x) { return ops::diagonal(b, x, integer("diagonal", "offset")); }));
  cases.check("view_then_both", [](Builder& b, const Ids& in) -> Ids {
    return {ops::reshape(b, ops::transpose(b, in[0], 0, 1), Shape{12}),
            ops::mul(b, ops::slice(b, in[0], 0, 1, 3), ops::slice(b, in[0], 0, 0, 2))};
  });
  cases.expect_all_done();
}

TEST(ReferenceIndexing, EveryCase) {
  REPRISE_NEEDS_REFERENCE("ops/indexing.safetensors");
  OpCases cases("indexing");
  const auto dim = [&](const std::string& name) { return cases.integer(name, "dim"); };
  for (const std::string name : {"gather_0", "gather_1", "gather_repeat"}) {
    cases.check(name, [&](Builder& b, const Ids& in) -> Ids { return {ops::gather(b, in[0], dim(name), in[1])}; }, {.length = 12});
  }
  cases.check("scatter", [&](Builder& b, const Ids& in) -> Ids { return {ops::scatter(b, in[0], dim("scatter"), in[1], in[2])}; });
  cases.check("scatter_add",
              [&](Builder& b, const Ids& in) -> Ids { return {ops::scatter_add(b, in[0], dim("scatter_add"), in[1], in[2])}; });
  cases.check("index_add_0",
              [&](Builder& b, const Ids& in) -> Ids { return {ops::index_add(b, in[0], dim("index_add_0"), in[1], in[2])}; });
  cases.check("index_add_alpha", [&](Builder& b, const Ids& in) -> Ids {
    return {ops::index_add(b, in[0], dim("index_add_alpha"), in[1], in[2], cases.number("index_add_alpha", "alpha"))};
  });
  for (const std::string name : {"index_select_0", "index_select_empty"}) {
    cases.check(name, [&](Builder& b, const Ids& in) -> Ids { return {ops::index_select(b, in[0], dim(name), in[1])}; });
  }
  cases.check("index_put", [](Builder& b, const Ids& in) -> Ids { return {ops::index_put(b, in[0], {in[1]}, in[2], false)}; });
  cases.check("index_put_accumulate", [](Builder& b, const Ids& in) -> Ids { return {ops::index_put(b, in[0], {in[1]}, in[2], true)}; });
  for (const std::string name : {"embedding", "embedding_repeat", "embedding_width_one"}) {
    cases.check(name, [](Builder& b, const Ids& in) -> Ids { return {ops::embedding(b, in[0], in[1])}; }, {.length = 10});
  }
  cases.check("embedding_padding", [&](Builder& b, const Ids& in) -> Ids {
    return {ops::embedding(b, in[0], in[1], cases.integer("embedding_padding", "padding_idx"))};
  });
  cases.check("one_hot", [&](Builder& b, const Ids& in) -> Ids { return {ops::one_hot(b, in[0], cases.integer("one_hot", "classes"))}; });
  cases.check("tril", one([&](Builder& b, ValueId x) { return ops::tril(b, x, cases.integer("tril", "diagonal")); }));
  cases.check("triu", one([&](Builder& b, ValueId x) { return ops::triu(b, x, cases.integer("triu", "diagonal")); }));
  cases.expect_all_done();
}

}  // namespace
}  // namespace reprise::test

// SPDX-License-Identifier: Apache-2.0
// The layout of views: chains of views read through composed layouts give what copying at every step gives, and a
// layout that cannot be shared is refused.
#include <gtest/gtest.h>

#include <numeric>

#include "interpreter/host_tensor.h"
#include "ops/builders.h"
#include "ops/eval_context.h"
#include "ops/op_table.h"
#include "ops/strided_walk.h"

namespace reprise {
namespace {

const Trace& emitted(Trace& trace, const std::function<void(Builder&, ValueId)>& views, const Shape& base) {
  const ValueId x = trace.add_input({DType::int64, base, Device::cpu}, Role::batch, "x");
  Builder b(trace);
  views(b, x);
  return trace;
}

/// Checks the chain of views that `views` emits, each on the one before, on a base of 0, 1, 2, ...
void check_chain(const Shape& base, const std::function<void(Builder&, ValueId)>& views) {
  Trace trace;
  emitted(trace, views, base);
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(base.numel()));
  std::iota(numbers.begin(), numbers.end(), 0);
  HostTensor dense = HostTensor::of<std::int64_t>(base, numbers);
  Layout layout{0, base.dense_strides()};
  const EvalContext::RunBody no_body;
  for (const Node& node : trace.nodes) {
    const TensorType& input = trace.type(node.inputs[0]);
    const TensorType& output = trace.type(node.outputs[0]);
    HostTensor next(output);
    const ArrayRef from{&input, dense.bytes().data()};
    const ArrayRef to{&output, next.bytes().data()};
    EvalContext context(node, {&from, 1}, {&to, 1}, no_body);
    op_row(node.opcode).evaluate(context);
    const auto composed = op_row(node.opcode).layout(node, input, layout);
    ASSERT_TRUE(composed.has_value()) << opcode_name(node.opcode);
    ASSERT_EQ(composed->strides.size(), output.shape.rank());
    // the base holds its own offsets, so that what a layout names is what it reads
    const auto read = next.as<std::int64_t>();
    EXPECT_EQ(std::vector<std::int64_t>(read.begin(), read.end()), offsets_of(output.shape, *composed)) << opcode_name(node.opcode);
    dense = next;
    layout = *composed;
  }
}

TEST(ViewLayout, ChainsShareTheBase) {
  check_chain({4, 6}, [](Builder& b, ValueId x) {
    const ValueId t = ops::transpose(b, x, 0, 1);
    const ValueId s = ops::slice(b, t, 0, 1, 6, 2);
    const ValueId u = ops::unsqueeze(b, s, {1});
    const ValueId e = ops::expand(b, u, Shape{3, 5, 4});
    ops::diagonal(b, e, -1);
  });
  check_chain({2, 12}, [](Builder& b, ValueId x) {
    const ValueId s = ops::slice(b, x, 1, 0, 12, 2);
    const ValueId r = ops::reshape(b, s, Shape{2, 2, 3});  // rows of a stepped slice still divide
    const ValueId m = ops::reshape(b, r, Shape{12, 1, 1});
    ops::squeeze(b, m, {1});
  });
  check_chain({7, 3}, [](Builder& b, ValueId x) {
    const ValueId w = ops::unfold(b, x, 0, 3, 2);
    ops::permute(b, w, {2, 0, 1});
  });
  check_chain({24}, [](Builder& b, ValueId x) {
    const ValueId w = ops::as_strided(b, x, Shape{3, 4}, {5, 2}, 1);
    ops::slice(b, w, 1, 1, 4);
  });
  check_chain({3, 0, 2}, [](Builder& b, ValueId x) {
    const ValueId r = ops::reshape(b, x, Shape{0, 6});
    ops::transpose(b, r, 0, 1);
  });
}

TEST(ViewLayout, ExpandedDimensionsMerge) {
  check_chain({3}, [](Builder& b, ValueId x) {
    const ValueId e = ops::expand(b, ops::unsqueeze(b, ops::unsqueeze(b, x, {0}), {0}), Shape{2, 5, 3});
    const ValueId s = ops::slice(b, e, 2, 1, 2);
    ops::reshape(b, s, Shape{10, 1});
  });
}

std::optional<Layout> layout_of_last(const Shape& base, const std::function<void(Builder&, ValueId)>& views) {
  Trace trace;
  emitted(trace, views, base);
  std::optional<Layout> layout = Layout{0, base.dense_strides()};
  for (const Node& node : trace.nodes) {
    if (layout) layout = op_row(node.opcode).layout(node, trace.type(node.inputs[0]), *layout);
  }
  return layout;
}

TEST(ViewLayout, WhatCannotBeSharedIsRefused) {
  EXPECT_FALSE(layout_of_last({2, 3}, [](Builder& b, ValueId x) { ops::reshape(b, ops::transpose(b, x, 0, 1), Shape{6}); }));
  EXPECT_FALSE(layout_of_last({4, 4}, [](Builder& b, ValueId x) { ops::reshape(b, ops::slice(b, x, 1, 0, 3), Shape{12}); }));
  EXPECT_FALSE(layout_of_last({2, 3}, [](Builder& b, ValueId x) { ops::as_strided(b, ops::transpose(b, x, 0, 1), Shape{2}, {1}, 0); }));
  EXPECT_TRUE(layout_of_last({4, 4}, [](Builder& b, ValueId x) { ops::reshape(b, ops::slice(b, x, 0, 1, 3), Shape{8}); }));
}

TEST(ViewLayout, EmptySlicesStayInsideTheirStorage) {
  const auto layout = layout_of_last({3, 5}, [](Builder& b, ValueId x) { ops::slice(b, x, 0, 3, 3); });
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->offset, 0);
}

}  // namespace
}  // namespace reprise

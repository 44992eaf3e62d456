// SPDX-License-Identifier: Apache-2.0
// Where values lie, how long their storage lives, which strides a claim accepts, and what forward saves.
#include "analysis/storage.h"

#include <gtest/gtest.h>

#include "analysis/claim.h"
#include "analysis/saved.h"
#include "ops/builders.h"

namespace reprise {
namespace {

TensorType f32(Shape shape) { return {DType::float32, std::move(shape), Device::cpu}; }

TEST(Storage, ViewsShareAndReadersOfViewsKeepTheOwnerAlive) {
  Trace trace;
  Builder b(trace);
  const ValueId x = trace.add_input(f32({4, 6}), Role::batch, "x");
  const ValueId h = ops::tanh(b, x);                    // node 0
  const ValueId t = ops::permute(b, h, {1, 0});         // node 1
  const ValueId s = ops::slice(b, t, 0, 2, 5);          // node 2
  const ValueId other = ops::neg(b, x);                 // node 3
  const ValueId y = ops::neg(b, s);                     // node 4
  trace.outputs = {y};
  const StorageMap storage(trace);
  EXPECT_EQ(storage[s], (Place{h, {2, {1, 6}}}));
  EXPECT_TRUE(storage.shares(trace.nodes[2]));
  EXPECT_FALSE(storage.shares(trace.nodes[4]));
  const std::vector<Lifetime> lifetimes = storage_lifetimes(trace, storage);
  EXPECT_EQ(lifetimes, (std::vector<Lifetime>{{x, 96, -1, 3}, {h, 96, 0, 4}, {other, 96, 3, 3}, {y, 48, 4, 5}}));
}

TEST(Storage, AViewThatCannotBeExpressedOwnsItsStorage) {
  Trace trace;
  Builder b(trace);
  const ValueId x = trace.add_input(f32({4, 6}), Role::batch, "x");
  const ValueId flat = ops::reshape(b, ops::permute(b, x, {1, 0}), Shape{24});
  trace.outputs = {flat};
  const StorageMap storage(trace);
  EXPECT_TRUE(storage.owns(flat));
  EXPECT_FALSE(storage.shares(trace.nodes[1]));
}

TEST(Claim, LayoutsAcceptTheStridesTheyName) {
  const auto fits = [](InputLayout need, const Shape& shape, std::vector<std::int64_t> strides) {
    return layout_satisfies(need, shape, strides);
  };
  EXPECT_TRUE(fits(InputLayout::dense, Shape{2, 3}, {3, 1}));
  EXPECT_FALSE(fits(InputLayout::dense, Shape{2, 3}, {4, 1}));
  EXPECT_FALSE(fits(InputLayout::dense, Shape{2, 3}, {1, 2}));
  EXPECT_TRUE(fits(InputLayout::dense, Shape{1, 3}, {99, 1})) << "a dimension of extent 1 does not count";
  EXPECT_TRUE(fits(InputLayout::dense, Shape{0, 3}, {7, 7})) << "nothing lies anywhere";
  EXPECT_TRUE(fits(InputLayout::rows, Shape{2, 3}, {0, 1}));
  EXPECT_FALSE(fits(InputLayout::rows, Shape{2, 3}, {3, 2}));
  EXPECT_TRUE(fits(InputLayout::rows, Shape{}, {}));
  EXPECT_TRUE(fits(InputLayout::matrices, Shape{5, 2, 3}, {0, 1, 2}));
  EXPECT_TRUE(fits(InputLayout::matrices, Shape{5, 2, 3}, {1, 100, 1}));
  EXPECT_FALSE(fits(InputLayout::matrices, Shape{2, 3}, {2, 1})) << "rows overlap";
  EXPECT_FALSE(fits(InputLayout::matrices, Shape{2, 3}, {6, 2}));
  EXPECT_TRUE(fits(InputLayout::any, Shape{2, 3}, {6, 2}));
}

TEST(Saved, StoragesOfForwardReadByBackward) {
  Trace trace;
  Builder b(trace);
  const ValueId w = trace.add_input(f32({4, 6}), Role::param, "w");
  const ValueId x = trace.add_input(f32({4, 6}), Role::batch, "x");
  b.context.module = "mlp";
  const ValueId h = b.emit(op::mul, {x, w}, NoAttrs{}, "h");
  const ValueId t = b.emit(op::tanh, {h}, NoAttrs{}, "t");
  const ValueId turned = ops::permute(b, t, {1, 0});
  b.context.phase = Phase::backward;
  const ValueId g = b.emit(op::square, {turned}, NoAttrs{}, "g");
  const ValueId k = b.emit(op::mul, {ops::permute(b, g, {1, 0}), w}, NoAttrs{}, "k");
  trace.outputs = {b.emit(op::mul, {k, t}, NoAttrs{}, "m")};
  const SavedReport report = saved_for_backward(trace);
  ASSERT_EQ(report.values.size(), 1U) << report.str();
  EXPECT_EQ(report.values[0].name, "t");
  EXPECT_EQ(report.values[0].readers, (std::vector<std::string>{"g", "m"}));
  EXPECT_EQ(report.bytes, 96);
  EXPECT_NE(report.str().find("%t = tanh  @mlp  read by g, m"), std::string::npos) << report.str();
}

}  // namespace
}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

#include "io/directory.h"
#include "io/write_fault.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

/// Owns the memory that slots point into.
struct Weights {
  std::vector<std::vector<float>> data;
  std::vector<TensorSlot> slots;

  void add(const std::string& name, std::vector<std::int64_t> shape, float first) {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    data.emplace_back(count);
    for (std::size_t i = 0; i < count; ++i) data.back()[i] = first + static_cast<float>(i);
    slots.push_back({name, DType::float32, std::move(shape), {}});
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i].bytes = std::as_writable_bytes(std::span(data[i]));
  }
};

Weights make_weights(float first) {
  Weights weights;
  weights.add("a.weight", {2, 3}, first);
  weights.add("b", {4}, -first);
  return weights;
}

Weights make_moments(float first) {
  Weights weights;
  weights.add("a.weight.m", {2, 3}, first);
  return weights;
}

class CheckpointTest : public ::testing::Test {
 protected:
  test::TemporaryDirectory folder_;
  Weights parameters_ = make_weights(1);
  Weights moments_ = make_moments(7);

  void save(std::int64_t step, std::int64_t keep_last = 0) {
    save_checkpoint(folder_.path(), {step, step * 100, 0, false}, parameters_.slots, moments_.slots, keep_last);
  }
  TrainState load(Weights& parameters, Weights& moments) {
    return load_checkpoint(*latest_checkpoint(folder_.path()), parameters.slots, moments.slots);
  }
};

TEST_F(CheckpointTest, LoadsWhatWasSaved) {
  const TrainState state{12, 3400, 1.25, true};
  save_checkpoint(folder_.path(), state, parameters_.slots, moments_.slots, 0);
  Weights parameters = make_weights(100);
  Weights moments = make_moments(100);
  EXPECT_EQ(load(parameters, moments), state);
  EXPECT_EQ(parameters.data, parameters_.data);
  EXPECT_EQ(moments.data, moments_.data);
}

TEST_F(CheckpointTest, KeepsTheNewest) {
  for (const std::int64_t step : {5, 10, 20}) save(step, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "step-5"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "step-10"));
  EXPECT_EQ(latest_checkpoint(folder_.path())->filename(), "step-20");
  remove_path(folder_.path() / "latest");
  EXPECT_EQ(latest_checkpoint(folder_.path())->filename(), "step-20");
}

TEST_F(CheckpointTest, AnOlderCompleteOneIsTakenWhereTheNewestIsNot) {
  for (const char* part : {"state.json", "model.safetensors", "optimizer.safetensors"}) {
    for (const std::int64_t step : {5, 10, 20}) save(step);
    remove_path(folder_.path() / "step-20" / part);
    EXPECT_EQ(latest_checkpoint(folder_.path())->filename(), "step-10") << part;
    remove_path(folder_.path() / "latest");
    EXPECT_EQ(latest_checkpoint(folder_.path())->filename(), "step-10") << part;
  }
  remove_path(folder_.path() / "step-5");
  remove_path(folder_.path() / "step-10");
  EXPECT_USER_ERROR(latest_checkpoint(folder_.path()),
                    "no checkpoint of the run is complete; bring back what is missing, or start another run; of the newest, ");
  EXPECT_USER_ERROR(latest_checkpoint(folder_.path()), "step-20, this is gone: optimizer.safetensors");
}

TEST_F(CheckpointTest, ParametersAreReadInAnotherDtype) {
  save(5);
  const std::filesystem::path checkpoint = folder_.path() / "step-5";
  EXPECT_TRUE(is_checkpoint(checkpoint));
  EXPECT_FALSE(is_checkpoint(folder_.path()));
  std::vector<double> a(6);
  std::vector<double> b(4);
  const std::vector<TensorSlot> wide = {{"a.weight", DType::float64, {2, 3}, std::as_writable_bytes(std::span(a))},
                                        {"b", DType::float64, {4}, std::as_writable_bytes(std::span(b))}};
  load_parameters(checkpoint, wide);
  EXPECT_EQ(a, (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(b, (std::vector<double>{-1, 0, 1, 2}));
  parameters_.data[0][4] = std::numeric_limits<float>::infinity();
  save(6);
  EXPECT_USER_ERROR(load_parameters(folder_.path() / "step-6", wide),
                    "a.weight: the weights hold a value that is not finite; take an earlier checkpoint: element 4");
}

TEST_F(CheckpointTest, AnEmptyRunHasNone) { EXPECT_FALSE(latest_checkpoint(folder_.path()).has_value()); }

TEST_F(CheckpointTest, AFullDiskLeavesTheLastOneInPlace) {
  save(5);
  {
    const ScopedWriteFault fault(fail_after_bytes(64, ENOSPC));
    EXPECT_USER_ERROR(save(6), "no space left on device");
  }
  EXPECT_EQ(latest_checkpoint(folder_.path())->filename(), "step-5");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "step-6"));
  Weights parameters = make_weights(100);
  Weights moments = make_moments(100);
  EXPECT_EQ(load(parameters, moments).step, 5);
}

TEST_F(CheckpointTest, RefusesAnotherModel) {
  save(5);
  Weights moments = make_moments(0);
  Weights other_shape;
  other_shape.add("a.weight", {3, 2}, 0);
  other_shape.add("b", {4}, 0);
  EXPECT_USER_ERROR(load(other_shape, moments), "wrong shape of a.weight");
  Weights more = make_weights(0);
  more.add("c", {1}, 0);
  EXPECT_USER_ERROR(load(more, moments), "a tensor of the model is missing: c [1]");
  Weights fewer;
  fewer.add("b", {4}, 0);
  EXPECT_USER_ERROR(load(fewer, moments), "the model has no tensor of this name");
  Weights other_dtype = make_weights(0);
  other_dtype.slots[1].dtype = DType::bfloat16;
  EXPECT_USER_ERROR(load(other_dtype, moments), "wrong dtype of b");
}

TEST_F(CheckpointTest, RefusesANewerFormat) {
  save(5);
  std::ofstream(folder_.path() / "step-5" / "state.json") << R"({"format_version": 99, "step": 5, "tokens": 500})";
  Weights parameters = make_weights(0);
  Weights moments = make_moments(0);
  EXPECT_USER_ERROR(load(parameters, moments), "newer than this program reads");
}

}  // namespace
}  // namespace reprise

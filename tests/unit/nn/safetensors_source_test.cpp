// SPDX-License-Identifier: Apache-2.0
// Weights in one file and in shards, read as rows of any floating type; folders that contradict themselves.
#include "nn/safetensors_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "io/json.h"
#include "nn/folder_weights.h"
#include "nn/weight_conversion.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

/// A file of float32 tensors [2, 3] that hold 0, 1, 2, ... from `first` on.
void put_tensors(const std::filesystem::path& path, const std::vector<std::string>& names, float first = 0) {
  std::vector<SafetensorsPlan> plan;
  for (const std::string& name : names) plan.push_back({name, DType::float32, {2, 3}});
  SafetensorsWriter writer(path, std::move(plan));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::vector<float> values{first, first + 1, first + 2, first + 3, first + 4, first + 5};
    writer.write(std::as_bytes(std::span(values)));
  }
  writer.finish();
}

void put_index(const test::TemporaryDirectory& folder, std::string_view map) {
  test::put_file(folder / "model.safetensors.index.json", R"({"metadata": {"total_size": 48}, "weight_map": )" + std::string(map) + "}");
}

template <class T>
std::vector<T> rows(const TensorSource& source, std::string_view name, std::int64_t first, std::int64_t last, DType dtype) {
  const std::size_t place = source.find(name).value();
  std::vector<T> values(static_cast<std::size_t>((last - first) * source.tensors()[place].width()));
  source.read_rows(place, first, last, dtype, std::as_writable_bytes(std::span(values)));
  return values;
}

TEST(SafetensorsSource, ReadsRowsOfOneFile) {
  const test::TemporaryDirectory folder;
  put_tensors(folder / "model.safetensors", {"b", "a"});
  const auto source = SafetensorsSource::open_folder(folder.path());
  ASSERT_EQ(source->tensors().size(), 2u);
  EXPECT_EQ(source->tensors()[0].name, "b");
  EXPECT_EQ(source->tensors()[0].type_name, "float32");
  EXPECT_EQ(source->tensors()[0].rows(), 2);
  EXPECT_EQ(source->find("c"), std::nullopt);
  EXPECT_EQ(rows<float>(*source, "a", 1, 2, DType::float32), (std::vector<float>{3, 4, 5}));
  EXPECT_EQ(rows<double>(*source, "a", 0, 2, DType::float64), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  source->release(0);
  EXPECT_EQ(rows<float>(*source, "b", 0, 1, DType::float32), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(source->shard_of(0), "model.safetensors");
}

TEST(SafetensorsSource, ReadsShards) {
  const test::TemporaryDirectory folder;
  put_tensors(folder / "two.safetensors", {"a", "c"}, 10);
  put_tensors(folder / "one.safetensors", {"b"}, 20);
  put_index(folder, R"({"a": "two.safetensors", "b": "one.safetensors", "c": "two.safetensors"})");
  const auto source = SafetensorsSource::open_folder(folder.path());
  EXPECT_TRUE(has_weights(folder.path()));
  EXPECT_EQ(source->tensors().size(), 3u);
  EXPECT_EQ(rows<float>(*source, "b", 1, 2, DType::float32), (std::vector<float>{23, 24, 25}));
  EXPECT_EQ(rows<float>(*source, "c", 0, 1, DType::float32), (std::vector<float>{10, 11, 12}));
  EXPECT_EQ(source->shard_of(source->find("c").value()), "two.safetensors");
  EXPECT_EQ(source->file_of(source->find("c").value()), (folder / "two.safetensors").string());
  EXPECT_EQ(source->name(), (folder / "model.safetensors.index.json").string());
}

TEST(SafetensorsSource, FoldersThatContradictThemselves) {
  const test::TemporaryDirectory folder;
  const auto open = [&] { SafetensorsSource::open_folder(folder.path()); };
  EXPECT_FALSE(has_weights(folder.path()));
  EXPECT_USER_ERROR(open(), "cannot read");
  EXPECT_USER_ERROR(open(), "model.safetensors");
  put_tensors(folder / "one.safetensors", {"a", "b"});
  put_index(folder, R"({"a": "one.safetensors", "b": "two.safetensors"})");
  EXPECT_USER_ERROR(open(), "model.safetensors.index.json: a file that the index names is missing; fetch it again: two.safetensors");
  put_tensors(folder / "two.safetensors", {"c"});
  EXPECT_USER_ERROR(open(), "one.safetensors: the index places this tensor in another file, two.safetensors");
  put_index(folder, R"({"a": "one.safetensors", "c": "two.safetensors"})");
  EXPECT_USER_ERROR(open(), "one.safetensors: the index does not name a tensor that this file holds; fetch or write the folder again: b");
  put_index(folder, R"({"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors", "d": "two.safetensors"})");
  EXPECT_USER_ERROR(open(), "two.safetensors lacks a tensor that the index places in it; fetch or write the folder again: d");
  put_index(folder, R"({"a": "../one.safetensors"})");
  EXPECT_USER_ERROR(open(), "weight_map.a: must be the name of a file in the same folder, not \"../one.safetensors\"");
  put_index(folder, "{}");
  EXPECT_USER_ERROR(open(), "weight_map: names no tensors");
  put_index(folder, "[]");
  EXPECT_USER_ERROR(open(), "weight_map: must be an object of tensor names and file names");
  put_index(folder, R"({"a": 1})");
  EXPECT_USER_ERROR(open(), "weight_map.a: must be a string");
  put_tensors(folder / "model.safetensors", {"a"});
  EXPECT_USER_ERROR(open(), "both model.safetensors and model.safetensors.index.json are here; remove the one that is not meant");
}

TEST(SafetensorsSource, ATruncatedShardIsNamed) {
  const test::TemporaryDirectory folder;
  put_tensors(folder / "one.safetensors", {"a"});
  put_tensors(folder / "two.safetensors", {"b"});
  put_index(folder, R"({"a": "one.safetensors", "b": "two.safetensors"})");
  const std::string bytes = test::get_file(folder / "two.safetensors");
  test::put_file(folder / "two.safetensors", bytes.substr(0, bytes.size() - 1));
  EXPECT_USER_ERROR(SafetensorsSource::open_folder(folder.path()),
                    "two.safetensors: tensor \"b\": data_offsets [0, 24] reach past the 23 bytes");
}

TEST(SafetensorsSource, WeightsAreFloating) {
  const test::TemporaryDirectory folder;
  SafetensorsWriter writer(folder / "model.safetensors", {{"a", DType::int64, {2}}});
  const std::vector<std::int64_t> values{1, 2};
  writer.write(std::as_bytes(std::span(values)));
  writer.finish();
  const SafetensorsSource source(folder / "model.safetensors");
  EXPECT_USER_ERROR(rows<float>(source, "a", 0, 2, DType::float32), "wrong dtype of a; weights are floating: int64");
}

TEST(MatchWeights, NamesWhatDoesNotFit) {
  const test::TemporaryDirectory folder;
  put_tensors(folder / "model.safetensors", {"a", "b"});
  const SafetensorsSource source(folder / "model.safetensors");
  const auto match = [&](WeightTable table) { return match_weights(source, table); };
  EXPECT_EQ(match({{{"b", {}, {2, 3}, {}}, {"x", {"y", "a"}, {2, 3}, {}}}, {}}), (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(match({{{"b", {}, {2, 3}, {}}}, {"a"}}), std::vector<std::size_t>{1});
  EXPECT_USER_ERROR(match({{{"b", {}, {2, 3}, {}}}, {}}),
                    "model.safetensors: the model has no tensor of this name; is config.json the right one? a [2, 3]");
  EXPECT_USER_ERROR(match({{{"c", {"d"}, {2, 3}, {}}}, {}}), "model.safetensors: a tensor of the model is missing: c [2, 3]");
  EXPECT_USER_ERROR(match({{{"a", {}, {3, 2}, {}}}, {}}), "model.safetensors: wrong shape of a: the file has [2, 3], the model [3, 2]");
}

TEST(WeightConversion, EveryPairOfTypes) {
  // Exact in all four: small numbers with few bits, a zero of either sign, a float16 denormal that float32 holds.
  const std::vector<double> exact{0, -0.0, 1, -2.5, 0.15625, 240};
  for (const DType from : {DType::float32, DType::float64, DType::bfloat16, DType::float16}) {
    std::vector<std::byte> stored(exact.size() * dtype_size(from));
    convert_elements(DType::float64, std::as_bytes(std::span(exact)), from, stored);
    for (const DType to : {DType::float32, DType::float64, DType::bfloat16, DType::float16}) {
      std::vector<std::byte> converted(exact.size() * dtype_size(to));
      convert_elements(from, stored, to, converted);
      for (std::size_t i = 0; i < exact.size(); ++i) {
        const double value = element_value(to, converted.data() + i * dtype_size(to));
        EXPECT_EQ(value, exact[i]);
        EXPECT_EQ(std::signbit(value), std::signbit(exact[i]));
      }
      EXPECT_EQ(first_not_finite(to, converted), std::nullopt);
    }
  }
}

TEST(WeightConversion, RoundsToNearestEvenAndOverflows) {
  const std::vector<float> values{1 + 0x1p-8F, 1 + 3 * 0x1p-8F, 0x1p-25F, 3 * 0x1p-25F, 65519, 65520, 1e5F};
  std::vector<bfloat16> brain(values.size());
  convert_elements(DType::float32, std::as_bytes(std::span(values)), DType::bfloat16, std::as_writable_bytes(std::span(brain)));
  EXPECT_EQ(to_float(brain[0]), 1.0F);
  EXPECT_EQ(to_float(brain[1]), 1 + 0x1p-6F);
  std::vector<float16> half(values.size());
  convert_elements(DType::float32, std::as_bytes(std::span(values)), DType::float16, std::as_writable_bytes(std::span(half)));
  EXPECT_EQ(to_float(half[2]), 0.0F);
  EXPECT_EQ(to_float(half[3]), 0x1p-23F);
  EXPECT_EQ(to_float(half[4]), 65504.0F);
  EXPECT_EQ(first_not_finite(DType::float16, std::as_bytes(std::span(half))), 5u);
  EXPECT_EQ(first_not_finite(DType::bfloat16, std::as_bytes(std::span(brain))), std::nullopt);
  const std::vector<float> bad{1, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_EQ(first_not_finite(DType::float32, std::as_bytes(std::span(bad))), 1u);
}

}  // namespace
}  // namespace reprise

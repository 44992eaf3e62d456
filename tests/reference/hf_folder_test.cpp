// SPDX-License-Identifier: Apache-2.0
// Hugging Face folders of every family against transformers: configuration, names and layout of the weights, logits, loss, gradients.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "io/json.h"
#include "io/safetensors.h"
#include "nn/gpt_config_json.h"
#include "nn/safetensors_source.h"
#include "reference/model_run.h"
#include "reference/tensor_numbers.h"
#include "support/figure_folder.h"
#include "support/reference_directory.h"

namespace reprise::test {
namespace {

/// Logits and loss: times max(1, |value|). Gradients: times the largest of their tensor. Statistics: times max(1, |value|).
struct Bounds {
  double logits, loss, gradients, statistics;
};
constexpr Bounds kFloat64Bounds{1e-9, 1e-9, 6e-8, 1e-9};
constexpr Bounds kFloat32Bounds{5e-5, 1e-5, 5e-5, 0};  // statistics are sums of rounded values: not compared

const std::vector<std::string> kFolders = {"deepseek-v3", "falcon", "gemma2", "gemma3",        "gpt-neox", "llama", "llama-bias",
                                           "llama-tied",  "llama3", "mistral", "mixtral",      "olmo2",    "phi",   "phi3",
                                           "phi3-longrope", "qwen2", "qwen3",  "qwen3-moe",    "smollm3",  "stablelm", "starcoder2"};

/// Requires |actual - expected| <= bound * scale(expected).
template <class Scale>
void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, double bound, const Scale& scale,
                 const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_LE(std::abs(actual[i] - expected[i]), bound * scale(expected[i]))
        << what << " element " << i << ": " << actual[i] << ", expected " << expected[i];
  }
}

double above_one(double value) { return std::max(1.0, std::abs(value)); }

struct HfReference {
  explicit HfReference(const std::string& name)
      : path(reference_directory() / "hf" / name),
        folder(read_config(path)),
        source(SafetensorsSource::open_folder(path)),
        table(folder_weights(folder.config, folder.family)),
        values(SafetensorsFile::open(path / "reference.safetensors")) {}

  Batch batch(const std::string& tokens, const std::string& targets) const {
    const SafetensorsTensor& rows = *values.find(tokens);
    return {rows.shape[0], rows.shape[1], elements<std::int64_t>(rows), elements<std::int64_t>(*values.find(targets))};
  }
  ModelFigures run(DType dtype, const Batch& batch) const {
    return train_three_steps(folder.config, dtype, read_parameters(*source, table), batch);
  }

  std::filesystem::path path;
  FolderConfig folder;
  std::unique_ptr<SafetensorsSource> source;
  WeightTable table;
  SafetensorsFile values;
};

/// Sum, sum of squares, and dot product with ((i mod 97) - 48) / 48.
std::vector<double> statistics(const std::vector<double>& values) {
  std::vector<double> result(3);
  for (std::size_t i = 0; i < values.size(); ++i) {
    result[0] += values[i];
    result[1] += values[i] * values[i];
    result[2] += values[i] * (static_cast<double>(i % 97) - 48) / 48;
  }
  return result;
}

void compare_gradients(const HfReference& reference, const ModelFigures& figures, const Bounds& bounds) {
  const Json meta = read_json(reference.path / "meta.json");
  const Json* const order = meta.find("parameter_order_of_stats");
  if (order == nullptr) return;  // no gradients were kept
  std::size_t compared = 0;
  for (const FolderTensor& tensor : reference.table.tensors) {
    const std::vector<double> gradient = folder_gradient(figures, tensor);
    if (gradient.empty()) continue;  // not trained
    const std::vector<double> expected = numbers(reference.values, "grad." + tensor.name);
    const double scale = largest(expected);
    expect_near(gradient, expected, bounds.gradients, [&](double) { return scale; }, "grad." + tensor.name);
    ++compared;
    if (bounds.statistics == 0) continue;
    const std::vector<double> all = numbers(reference.values, "grad_stats");
    const auto row = std::find(order->items().begin(), order->items().end(), Json(tensor.name)) - order->items().begin();
    ASSERT_LT(row, static_cast<std::ptrdiff_t>(order->items().size())) << tensor.name;
    expect_near(statistics(gradient), {all.begin() + 3 * row, all.begin() + 3 * row + 3}, bounds.statistics, above_one,
                "grad_stats of " + tensor.name);
  }
  EXPECT_EQ(compared, order->items().size());
}

class HfFolder : public testing::TestWithParam<std::string> {
 protected:
  static void compare(DType dtype, const Bounds& bounds) {
    const HfReference reference(GetParam());
    const ModelFigures figures = reference.run(dtype, reference.batch("tokens", "targets"));
    expect_near(figures.logits, numbers(reference.values, "logits_f64"), bounds.logits, above_one, "logits");
    expect_near({figures.step_losses[0]}, numbers(reference.values, "loss"), bounds.loss, above_one, "loss");
    compare_gradients(reference, figures, bounds);
    if (reference.values.find("tokens_short") == nullptr) return;
    const ModelFigures shorter = reference.run(dtype, reference.batch("tokens_short", "tokens_short"));
    expect_near(shorter.logits, numbers(reference.values, "logits_short_f64"), bounds.logits, above_one, "logits of the short rows");
  }
};

TEST_P(HfFolder, Float64) {
  REPRISE_NEEDS_REFERENCE("hf");
  compare(DType::float64, kFloat64Bounds);
}

TEST_P(HfFolder, Float32) {
  REPRISE_NEEDS_REFERENCE("hf");
  compare(DType::float32, kFloat32Bounds);
}

INSTANTIATE_TEST_SUITE_P(Folders, HfFolder, testing::ValuesIn(kFolders), [](const auto& parameter) {
  std::string name = parameter.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(HfFolders, NoneIsLeftOut) {
  REPRISE_NEEDS_REFERENCE("hf");
  for (const auto& entry : std::filesystem::directory_iterator(reference_directory() / "hf")) {
    const std::string name = entry.path().filename().string();
    EXPECT_NE(std::find(kFolders.begin(), kFolders.end(), name), kFolders.end()) << name;
  }
}

}  // namespace
}  // namespace reprise::test

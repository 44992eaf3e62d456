// SPDX-License-Identifier: Apache-2.0
// Small self-made folders of every family: what is read of them computes what a forward pass written out separately does. Weights are
// drawn by the tensors' names, so that a wrong name, order or shape gives other figures.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "nn/safetensors_source.h"
#include "reference/model_run.h"
#include "support/figure_folder.h"

namespace reprise::test {
namespace {

constexpr double kFloat64 = 1e-11;       // of losses; sums of 696 products: ten times
constexpr double kSlope = 5e-8;          // the figures are differences
constexpr double kFloat32Loss = 1e-5;
constexpr double kFloat32Sum = 1e-3;

double ramp(const std::vector<double>& values) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * (static_cast<double>(i % 97) - 48) / 48;
  return sum;
}

Batch batch() {
  Batch batch{2, 12, {}, {}};
  for (std::int64_t i = 0; i < 24; ++i) {
    batch.tokens.push_back((7 * i + 3) % 29);
    batch.targets.push_back((5 * i + 11) % 29);
  }
  batch.targets[3] = -100;
  return batch;
}

class FigureFolder : public testing::TestWithParam<FolderFigure> {
 protected:
  void compare(DType dtype, double loss_bound, double sum_bound, double slope_bound) const {
    const TemporaryDirectory folder;
    put_figure_folder(folder.path(), GetParam(), DType::float32, 2);
    const FolderConfig model = read_config(folder.path());
    const WeightTable table = folder_weights(model.config, model.family);
    const auto source = SafetensorsSource::open_folder(folder.path());
    const ModelFigures figures = train_three_steps(model.config, dtype, read_parameters(*source, table), batch());
    EXPECT_NEAR(figures.step_losses.at(0), GetParam().loss, loss_bound);
    EXPECT_NEAR(ramp(figures.logits), GetParam().logits_ramp, sum_bound);
    double slope = 0;
    for (const FolderTensor& tensor : table.tensors) slope += ramp(folder_gradient(figures, tensor));
    EXPECT_NEAR(slope, GetParam().slope, slope_bound);
  }
};

TEST_P(FigureFolder, Float64) { compare(DType::float64, kFloat64, kFloat64 * 10, kSlope); }

TEST_P(FigureFolder, Float32) { compare(DType::float32, kFloat32Loss, kFloat32Sum, kFloat32Sum); }

INSTANTIATE_TEST_SUITE_P(Folders, FigureFolder, testing::ValuesIn(kFolderFigures), [](const auto& parameter) {
  std::string name = parameter.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(FigureFolders, AreOfEveryFamily) {
  std::set<std::string_view> types;
  for (const FolderFigure& figure : kFolderFigures) {
    for (const FamilyRow& row : family_table()) {
      if (std::string_view(figure.config).find("\"model_type\": \"" + std::string(row.model_type) + "\"") != std::string_view::npos) {
        types.insert(row.model_type);
      }
    }
  }
  EXPECT_EQ(types.size(), family_table().size());
}

}  // namespace
}  // namespace reprise::test

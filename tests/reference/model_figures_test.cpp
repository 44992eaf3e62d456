// SPDX-License-Identifier: Apache-2.0
// Small models of every structure, from their own initial values, against the figures kept beside this file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "nn/gpt.h"
#include "reference/figures_models.h"
#include "reference/model_run.h"
#include "support/structure_configs.h"

namespace reprise::test {

/// Names a figure in the test's listing.
void PrintTo(const ModelFigure& figure, std::ostream* stream) { *stream << figure.name; }

namespace {

constexpr std::uint64_t kSeed = 20240229;
constexpr double kFloat64 = 1e-9;
constexpr double kFloat32Loss = 1e-5;
constexpr double kFloat32Sum = 2e-3;  // of some thousand terms, each within 5e-5

GptConfig changed(const char* name, const std::function<void(GptConfig&)>& change) {
  GptConfig config = named_config(name);
  change(config);
  return config;
}

/// The configuration a figure is of.
GptConfig config_of(const std::string& name) {
  if (name == "llama3-qkv-bias") {
    return changed("toy-llama", [](GptConfig& c) {
      c.norm_eps = 1e-6;
      c.attn_bias = true;
      c.tied = false;
      c.rope_base = 500000;
      c.rope_scaling = {RopeScaling::Kind::llama3, 8, 1, 4, 32};
    });
  }
  if (name == "multi-query-shared-norm") {
    return changed("toy-neox", [](GptConfig& c) {
      c.n_query_groups = 1;
      c.shared_attention_norm = true;
      c.lm_head_bias = true;
      c.gelu_tanh = true;
      c.rotary_percentage = 0.4;
    });
  }
  if (name == "gemma") {
    return changed("toy-llama", [](GptConfig& c) {
      c.head_size = 32;
      c.n_query_groups = 1;
      c.norm_unit_offset = true;
      c.scale_embeddings = true;
      c.mlp_class = MlpClass::gemma;
      c.gelu_tanh = true;
      c.attention_scores_scalar = 24;
    });
  }
  if (name == "no-affine-condensed") {
    return changed("toy-llama", [](GptConfig& c) {
      c.n_query_groups = 4;
      c.tied = false;
      c.norm_class = NormClass::layer_norm;
      c.norm_affine = false;
      c.rope_condense_ratio = 3;
    });
  }
  for (const GptConfig& config : structure_configs()) {
    if (config.name == name) return config;
  }
  return named_config(name);
}

/// The model's own initial values; vectors, which start at 0 or 1, are moved so that each matters.
NamedNumbers initial_weights(const GptConfig& config) {
  NamedNumbers weights;
  for (const NamedParameter& parameter : Gpt(config).parameters()) {
    std::vector<float> values(static_cast<std::size_t>(parameter.shape.numel()));
    initialize(parameter, kSeed, DType::float32, std::as_writable_bytes(std::span(values)));
    if (parameter.shape.rank() == 1) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] += (static_cast<float>((i * 7 + static_cast<std::size_t>(parameter.index)) % 11) - 5.0f) / 64.0f;
      }
    }
    weights[parameter.name] = {values.begin(), values.end()};
  }
  return weights;
}

Batch batch_of(std::int64_t vocabulary) {
  Batch batch{2, 12, {}, {}};
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    for (std::int64_t t = 0; t < batch.length; ++t) {
      const std::int64_t token = (17 * row + 5 * t + t * t) % vocabulary;
      batch.tokens.push_back(token);
      batch.targets.push_back((token * 3 + row + 1) % vocabulary);
    }
  }
  batch.targets[3] = -100;
  batch.targets[23] = -100;
  return batch;
}

double ramp(const std::vector<double>& values) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * (static_cast<double>(i % 97) - 48) / 48;
  return sum;
}

class FigureModel : public testing::TestWithParam<ModelFigure> {
 protected:
  void compare(DType dtype, double loss_bound, double sum_bound) const {
    const GptConfig config = config_of(GetParam().name);
    const ModelFigures figures = train_three_steps(config, dtype, initial_weights(config), batch_of(config.vocab_size));
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(figures.step_losses.at(i), GetParam().step_losses[i], loss_bound * 5) << i;
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(figures.grad_norms.at(i), GetParam().grad_norms[i], loss_bound * 5) << i;
    EXPECT_NEAR(ramp(figures.logits), GetParam().logits_ramp, sum_bound);
    double gradients = 0;
    for (const NamedParameter& parameter : Gpt(config).parameters()) {
      if (!parameter.trained) continue;
      gradients += static_cast<double>(parameter.index + 1) * ramp(figures.gradients.at(parameter.name));
    }
    EXPECT_NEAR(gradients, GetParam().gradients_ramp, sum_bound * 10);
  }
};

TEST_P(FigureModel, Float64) { compare(DType::float64, kFloat64, kFloat64 * 10); }

TEST_P(FigureModel, Float32) { compare(DType::float32, kFloat32Loss, kFloat32Sum); }

INSTANTIATE_TEST_SUITE_P(Models, FigureModel, testing::ValuesIn(kModelFigures), [](const auto& parameter) {
  std::string name = parameter.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace reprise::test

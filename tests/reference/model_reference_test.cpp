// SPDX-License-Identifier: Apache-2.0
// Models against values made with PyTorch, LitGPT and transformers: logits, losses, gradients and three AdamW steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "io/json.h"
#include "io/safetensors.h"
#include "nn/folder_weights.h"
#include "nn/gpt.h"
#include "nn/gpt_config_json.h"
#include "nn/rope.h"
#include "nn/safetensors_source.h"
#include "reference/model_run.h"
#include "reference/tensor_numbers.h"
#include "support/reference_directory.h"

namespace reprise::test {
namespace {

/// What a run may differ by. Gradients: relative to the largest of their tensor; the rest absolute, or relative above 1.
struct Bounds {
  double logits, loss, gradients, norms, delta;
};
constexpr Bounds kFloat64Bounds{1e-9, 1e-9, 6e-8, 1e-9, 1e-7};
constexpr Bounds kFloat32Bounds{5e-5, 1e-5, 5e-5, 5e-5, 5e-6};
constexpr double kFloat64Statistics = 1e-9;
constexpr double kTables = 1e-12;
/// Adam divides by the gradient's size: where it is this small beside its tensor's largest, only rounding decides.
constexpr double kNoise = 1e-4;

const std::vector<std::string> kModels = {
    "CodeLlama-7b-hf", "Falcon3-1B-Base", "Gemma-2-27b", "Gemma-2-2b", "Gemma-2b", "Gemma-3-1b-it", "Gemma-3-27b-it", "Gemma-7b",
    "LLaMA-2-7B-32K", "Llama-2-7b-hf", "Llama-3-8B", "Llama-3.1-8B", "Llama-3.2-1B", "Mistral-7B-v0.1", "Mistral-7B-v0.3",
    "Mixtral-8x7B-v0.1", "OLMo-1B-hf", "OLMo-2-1124-7B", "Phi-3-mini-4k-instruct", "Phi-4-mini-instruct", "Qwen2.5-0.5B", "Qwen2.5-14B",
    "Qwen3-0.6B", "Qwen3-30B-A3B", "Qwen3-8B", "SmolLM2-135M", "falcon-40b", "falcon-7b", "gpt2", "gpt2-options", "open_llama_3b",
    "phi-1_5", "phi-2", "phi-4", "pythia-160m", "stablelm-3b-4e1t", "stablelm-base-alpha-3b", "tiny-llama-1.1b", "x-deepseek-v3",
    "x-interleave", "x-layernorm-qk", "x-linear-rope", "x-mix-1", "x-mix-2", "x-mla-dense", "x-moe-dense-first", "x-moe-groups",
    "x-neox-sequential", "x-no-rope", "x-odd-rope", "x-olmo2-gqa", "x-one-head", "x-one-token", "x-tied", "x-yarn", "x-yarn-mscale",
    "x-yarn-mscale2"};

std::filesystem::path model_folder(const std::string& name) { return reference_directory() / "models" / name; }

/// Gathers a model's parameters from a folder's tensors.
NamedNumbers read_weights(const FolderConfig& folder, const TensorSource& source) {
  return read_parameters(source, folder_weights(folder.config, folder.family));
}

Batch read_batch(const SafetensorsFile& file) {
  const SafetensorsTensor& tokens = *file.find("tokens");
  return {tokens.shape[0], tokens.shape[1], elements<std::int64_t>(tokens), elements<std::int64_t>(*file.find("targets"))};
}

/// Requires every element to be within `bound`; `relative`: times max(1, |expected|).
void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, double bound, const std::string& what,
                 bool relative = true) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double scale = relative ? std::max(1.0, std::abs(expected[i])) : 1.0;
    const double error = std::abs(actual[i] - expected[i]) / scale;
    if (!(error <= worst)) {
      worst = error;
      at = i;
    }
  }
  EXPECT_LE(worst, bound) << what << " element " << at << ": " << actual.at(at) << ", expected " << expected.at(at);
}

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

/// A model's reference folder, and its parameters' names there (a tied matrix may be called after the head).
struct Reference {
  explicit Reference(const std::string& name)
      : folder(read_config(model_folder(name))),
        weights_file(model_folder(name) / (is_gpt2(name) ? "model.safetensors" : "weights.safetensors")),
        values(SafetensorsFile::open(model_folder(name) / "reference.safetensors")),
        meta(read_json(model_folder(name) / "meta.json")),
        weights(read_weights(folder, weights_file)),
        batch(read_batch(values)) {}

  static bool is_gpt2(const std::string& name) { return name.starts_with("gpt2"); }
  std::string name_there(const std::string& parameter) const {
    return weights_file.find(parameter) ? parameter : "lm_head.weight";  // of a tied matrix
  }

  FolderConfig folder;
  SafetensorsSource weights_file;
  SafetensorsFile values;
  Json meta;
  NamedNumbers weights;
  Batch batch;
};

/// Elements whose steps can be compared: those with a gradient above the noise.
void expect_deltas_near(const Reference& reference, const ModelFigures& figures, double bound) {
  for (const auto& [name, delta] : figures.deltas) {
    const std::string there = "delta3." + reference.name_there(name);
    if (reference.values.find(there) == nullptr) continue;
    const std::vector<double> expected = numbers(reference.values, there);
    const std::vector<double> gradient = numbers(reference.values, "grad." + reference.name_there(name));
    const double noise = kNoise * largest(gradient);
    std::vector<double> a;
    std::vector<double> b;
    for (std::size_t i = 0; i < delta.size(); ++i) {
      if (std::abs(gradient[i]) > noise) a.push_back(delta[i]), b.push_back(expected[i]);
    }
    expect_near(a, b, bound, there, false);
  }
}

/// Rows of the embedding that no token reads only decay.
void expect_unread_rows_decay(const Reference& reference, const ModelFigures& figures, double bound) {
  const std::string name = "transformer.wte.weight";
  if (reference.folder.config.tied) return;
  const std::set<std::int64_t> read(reference.batch.tokens.begin(), reference.batch.tokens.end());
  const auto width = static_cast<std::size_t>(reference.folder.config.n_embd);
  const std::vector<double>& weight = reference.weights.at(name);
  for (std::size_t i = 0; i < weight.size(); ++i) {
    if (read.contains(static_cast<std::int64_t>(i / width))) continue;
    EXPECT_NEAR(figures.deltas.at(name)[i], weight[i] * (std::pow(1 - 1e-4, 3) - 1), bound) << name << " element " << i;
  }
}

void compare(const Reference& reference, const ModelFigures& figures, const Bounds& bounds) {
  expect_near(figures.logits, numbers(reference.values, "logits_f64"), bounds.logits, "logits");
  expect_near({figures.step_losses[0]}, numbers(reference.values, "loss"), bounds.loss, "loss");
  expect_near(figures.step_losses, numbers(reference.values, "step_losses"), bounds.loss, "step_losses");
  expect_near(figures.grad_norms, numbers(reference.values, "grad_norms"), bounds.norms, "grad_norms");
  for (const auto& [name, gradient] : figures.gradients) {
    const std::vector<double> expected = numbers(reference.values, "grad." + reference.name_there(name));
    expect_near(gradient, expected, bounds.gradients * largest(expected), "grad." + name, false);
  }
  expect_deltas_near(reference, figures, bounds.delta);
  expect_unread_rows_decay(reference, figures, bounds.delta);
}

class ReferenceModel : public testing::TestWithParam<std::string> {};

TEST_P(ReferenceModel, Float64) {
  REPRISE_NEEDS_REFERENCE("models");
  const Reference reference(GetParam());
  const ModelFigures figures = train_three_steps(reference.folder.config, DType::float64, reference.weights, reference.batch);
  compare(reference, figures, kFloat64Bounds);
  const std::vector<double> statistics_there = numbers(reference.values, "grad_stats");
  const std::vector<Json>& order = reference.meta.find("parameter_order_of_stats")->items();
  ASSERT_EQ(order.size(), figures.gradients.size());
  for (const auto& [name, gradient] : figures.gradients) {
    const auto row = std::find(order.begin(), order.end(), Json(reference.name_there(name))) - order.begin();
    ASSERT_LT(row, static_cast<std::ptrdiff_t>(order.size())) << name;
    const auto first = statistics_there.begin() + 3 * row;
    expect_near(statistics(gradient), {first, first + 3}, kFloat64Statistics, "grad_stats of " + name);
  }
}

TEST_P(ReferenceModel, Float32) {
  REPRISE_NEEDS_REFERENCE("models");
  const Reference reference(GetParam());
  compare(reference, train_three_steps(reference.folder.config, DType::float32, reference.weights, reference.batch), kFloat32Bounds);
}

TEST_P(ReferenceModel, RopeTables) {
  REPRISE_NEEDS_REFERENCE("models");
  const Reference reference(GetParam());
  const GptConfig& config = reference.folder.config;
  const RopeTables tables = rope_tables(config, reference.batch.length);
  if (reference.values.find("rope_cos") == nullptr) {  // learned positions
    EXPECT_TRUE(tables.cos.empty());
    return;
  }
  const RopeTables local = local_rope_tables(config, reference.batch.length);
  const auto joined = [&](const std::vector<double>& all, const std::vector<double>& beside) {
    if (!config.rope_local_base_freq) return all;
    std::vector<double> pairs;  // the last axis: global, local
    for (std::size_t i = 0; i < all.size(); ++i) pairs.push_back(all[i]), pairs.push_back(beside.at(i));
    return pairs;
  };
  expect_near(joined(tables.cos, local.cos), numbers(reference.values, "rope_cos"), kTables, "rope_cos");
  expect_near(joined(tables.sin, local.sin), numbers(reference.values, "rope_sin"), kTables, "rope_sin");
}

TEST_P(ReferenceModel, ParameterCount) {
  REPRISE_NEEDS_REFERENCE("models");
  const Json json = read_json(model_folder(GetParam()) / "config.json");
  const Json* const derived = json.find("derived");
  if (derived == nullptr) return;  // transformers' GPT-2 says no count
  GptConfig config = read_config(model_folder(GetParam())).config;
  EXPECT_EQ(parameter_count(config), derived->find("n_parameters")->integer());
}

INSTANTIATE_TEST_SUITE_P(Models, ReferenceModel, testing::ValuesIn(kModels), [](const auto& parameter) {
  std::string name = parameter.param;
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
});

TEST(ReferenceModels, NoneIsLeftOut) {
  REPRISE_NEEDS_REFERENCE("models");
  for (const auto& entry : std::filesystem::directory_iterator(reference_directory() / "models")) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory()) continue;
    EXPECT_NE(std::find(kModels.begin(), kModels.end(), name), kModels.end()) << name;
  }
}

class GreedyGeneration : public testing::TestWithParam<std::string> {};

/// Greedy tokens made one by one with a cache are the largest logits of the whole pass over them.
TEST_P(GreedyGeneration, EqualsTheWholePass) {
  REPRISE_NEEDS_REFERENCE("models");
  const Reference reference(GetParam());
  const GptConfig& config = reference.folder.config;
  const std::int64_t prompt = 5;
  const std::int64_t total = 20;
  GptTraceOptions options{.length = prompt, .table_rows = total};
  const TracedProgram prefill = trace_prefill(config, options, total);
  const TracedProgram decode = trace_decode(config, options, total);
  NamedValues values = persistent_values(prefill, reference.weights, DType::float32);
  std::vector<std::int64_t> text(reference.batch.tokens.begin(), reference.batch.tokens.begin() + prompt);
  values["tokens"] = HostTensor::of<std::int64_t>({1, prompt}, text);
  values["last"] = HostTensor::scalar<std::int64_t>(prompt - 1);
  for (const TraceInput& input : prefill.trace.inputs) {  // what lies in the caches before is not read
    const Value& value = prefill.trace[input.value];
    if (value.name.starts_with("cache.")) values[value.name] = HostTensor(value.type);
  }
  std::vector<HostTensor> outputs = run_named(prefill.trace, values);
  carry_donations(prefill.trace, outputs, values);
  while (true) {
    const std::vector<double> row = outputs[0].numbers();
    text.push_back(std::max_element(row.begin(), row.end()) - row.begin());
    if (static_cast<std::int64_t>(text.size()) == total) break;
    values["token"] = HostTensor::of<std::int64_t>({1, 1}, {text.back()});
    values["position"] = HostTensor::scalar<std::int64_t>(static_cast<std::int64_t>(text.size()) - 1);
    outputs = run_named(decode.trace, values);
    carry_donations(decode.trace, outputs, values);
  }
  options.length = total;
  options.output_logits = true;
  values["tokens"] = values["targets"] = HostTensor::of<std::int64_t>({1, total}, text);
  const std::vector<double> logits = run_named(trace_eval(config, options).trace, values)[1].numbers();
  const auto width = static_cast<std::ptrdiff_t>(config.padded_vocab_size);
  for (std::int64_t t = prompt - 1; t + 1 < total; ++t) {
    const auto row = logits.begin() + t * width;
    EXPECT_EQ(std::max_element(row, row + width) - row, text[static_cast<std::size_t>(t + 1)]) << "position " << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GreedyGeneration,
                         testing::Values("Gemma-2-2b", "Gemma-3-27b-it", "Mistral-7B-v0.1", "OLMo-2-1124-7B", "Qwen3-30B-A3B",
                                         "x-deepseek-v3"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           std::replace_if(name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace reprise::test

// SPDX-License-Identifier: Apache-2.0
// Writes a model folder of any size with random weights, never holding more than a few rows: what loading is measured on.
// usage: random_model NAME DIR [float32|bfloat16]; NAME as in `reprise models`. The tokenizer has one token per printable character.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/philox.h"
#include "nn/gpt.h"
#include "nn/gpt_config.h"
#include "nn/weight_conversion.h"
#include "tokenizer/tokenizer.h"
#include "train/model_folder.h"
#include "train/parameter_source.h"

namespace reprise {
namespace {

/// Uniform values in (-0.05, 0.05); those of norms around 1.
class RandomWeights final : public ParameterSource {
 public:
  RandomWeights(const GptConfig& config, DType dtype) : dtype_(dtype) {
    std::uint64_t seed = 0;
    for (const NamedParameter& p : Gpt(config).parameters()) {
      parameters_.emplace(p.name, Parameter{++seed, SourceTensor{"", "", {}, p.shape.extents()}.width()});
    }
  }

  DType dtype(const std::string&) const override { return dtype_; }

  void read_rows(const std::string& parameter, std::int64_t first, std::int64_t last, DType dtype, std::span<std::byte> to) const override {
    const Parameter& p = parameters_.at(parameter);
    const float middle = parameter.find("norm") != std::string::npos || parameter.find("ln_") != std::string::npos ? 1.0f : 0.0f;
    std::vector<float> values(static_cast<std::size_t>((last - first) * p.width));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint32_t word = philox_word(p.seed, static_cast<std::uint64_t>(first * p.width) + i);
      values[i] = middle + (static_cast<float>(word >> 8) * 0x1p-24f - 0.5f) * 0.1f;
    }
    convert_elements(DType::float32, std::as_bytes(std::span<const float>(values)), dtype, to);
  }

 private:
  struct Parameter {
    std::uint64_t seed;
    std::int64_t width;
  };

  DType dtype_;
  std::unordered_map<std::string, Parameter> parameters_;
};

void write(const std::string& name, const std::string& folder, DType dtype) {
  std::string printable;
  for (char c = ' '; c <= '~'; ++c) printable += c;
  const std::string_view text = printable;
  const std::unique_ptr<Tokenizer> tokenizer = learn_tokenizer("char", std::span(&text, 1));
  GptConfig config = named_config(name);
  fit_vocabulary(config, tokenizer->vocab_size());
  ModelFolderOptions options;
  options.tokenizer = tokenizer.get();
  save_model_folder(folder, config, RandomWeights(config, dtype), options);
  fmt::print("{} parameters in {}\n", parameter_count(config), dtype_name(dtype));
}

}  // namespace
}  // namespace reprise

int main(int count, char** words) {
  try {
    const auto dtype = reprise::parse_dtype(count == 4 ? words[3] : "float32");
    if (count < 3 || count > 4 || !dtype) throw reprise::UserError("usage: random_model NAME DIR [float32|bfloat16]");
    reprise::write(words[1], words[2], *dtype);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "random_model: {}\n", error.what());
    return 2;
  }
}

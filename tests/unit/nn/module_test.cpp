// SPDX-License-Identifier: Apache-2.0
// The module tree and initial values.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "nn/gpt.h"
#include "nn/layers.h"
#include "support/expect_error.h"

namespace reprise {
namespace {

std::vector<std::string> names_of(const Module& module) {
  std::vector<std::string> names;
  for (const NamedParameter& parameter : module.parameters()) names.push_back(parameter.name);
  return names;
}

template <class T>
std::vector<T> initial(const NamedParameter& parameter, std::uint64_t seed, DType dtype) {
  std::vector<T> values(static_cast<std::size_t>(parameter.shape.numel()));
  initialize(parameter, seed, dtype, std::as_writable_bytes(std::span(values)));
  return values;
}

/// One linear layer used twice, and a head that shares its matrix.
struct Twice : Module {
  Twice() {
    inner = add_module("inner", Linear(4, 4, true, Initializer::normal(0.02)));
    again = add_module("again", inner);
    head = add_module("head", Linear(inner.weight, false));
  }
  Linear inner, again, head;
};

TEST(Module, SharedParametersAreOne) {
  EXPECT_EQ(names_of(Twice()), (std::vector<std::string>{"inner.weight", "inner.bias"}));
}

TEST(Module, NamesAndOrderOfATiedModel) {
  GptConfig config = named_config("toy-gpt");
  config.n_layer = 1;
  EXPECT_EQ(names_of(Gpt(config)),
            (std::vector<std::string>{
                "transformer.wte.weight", "transformer.wpe.weight", "transformer.h.0.ln_1.weight", "transformer.h.0.ln_1.bias",
                "transformer.h.0.attn.c_attn.weight", "transformer.h.0.attn.c_attn.bias", "transformer.h.0.attn.c_proj.weight",
                "transformer.h.0.attn.c_proj.bias", "transformer.h.0.ln_2.weight", "transformer.h.0.ln_2.bias",
                "transformer.h.0.mlp.c_fc.weight", "transformer.h.0.mlp.c_fc.bias", "transformer.h.0.mlp.c_proj.weight",
                "transformer.h.0.mlp.c_proj.bias", "transformer.ln_f.weight", "transformer.ln_f.bias"}));
}

TEST(Module, RegistersANameOnce) {
  struct Clash : Module {
    Clash() {
      add_parameter("weight", Shape{1}, Initializer::zeros());
      add_parameter("weight", Shape{1}, Initializer::zeros());
    }
  };
  EXPECT_USER_ERROR(Clash(), "a module registers a name twice; choose another: weight");
}

TEST(Module, DecayIsForMatrices) {
  for (const NamedParameter& parameter : Gpt(named_config("toy-gpt")).parameters()) {
    EXPECT_EQ(parameter.decay(), parameter.shape.rank() == 2) << parameter.name;
  }
}

TEST(Initialize, IsNamedBySeedAndIndex) {
  const NamedParameter a{"a", {64, 33}, Initializer::normal(0.02), 0};
  NamedParameter b = a;
  b.index = 1;
  EXPECT_EQ(initial<float>(a, 1, DType::float32), initial<float>(a, 1, DType::float32));
  EXPECT_NE(initial<float>(a, 1, DType::float32), initial<float>(a, 2, DType::float32));
  EXPECT_NE(initial<float>(a, 1, DType::float32), initial<float>(b, 1, DType::float32));
}

TEST(Initialize, IsNormal) {
  const NamedParameter parameter{"a", {512, 512}, Initializer::normal(0.02), 3};
  const std::vector<float> values = initial<float>(parameter, 7, DType::float32);
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  for (const float value : values) {
    const double z = value / 0.02;
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
  }
  const auto n = static_cast<double>(values.size());
  const double error = 5 / std::sqrt(n);  // five standard deviations of a mean of n draws of variance 1
  EXPECT_LT(std::abs(sum / n), error);
  EXPECT_LT(std::abs(squares / n - 1), error * std::sqrt(2.0));
  EXPECT_LT(std::abs(fourth / n - 3), error * std::sqrt(96.0));
}

TEST(Initialize, OtherTypesHoldTheFloatValues) {
  const NamedParameter parameter{"a", {5, 3}, Initializer::normal(1), 0};
  const std::vector<float> values = initial<float>(parameter, 1, DType::float32);
  const std::vector<double> wide = initial<double>(parameter, 1, DType::float64);
  const std::vector<bfloat16> narrow = initial<bfloat16>(parameter, 1, DType::bfloat16);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(wide[i], static_cast<double>(values[i]));
    EXPECT_EQ(narrow[i].bits, to_bfloat16(values[i]).bits);
  }
  EXPECT_EQ(initial<float>({"b", {3}, Initializer::ones(), 0}, 1, DType::float32), std::vector<float>(3, 1.0f));
  EXPECT_EQ(initial<float>({"b", {3}, Initializer::zeros(), 0}, 1, DType::float32), std::vector<float>(3, 0.0f));
  std::vector<std::byte> short_bytes(4);
  EXPECT_INTERNAL_ERROR(initialize(parameter, 1, DType::float32, short_bytes), "wrong number of bytes for a");
}

TEST(Initialize, ResidualProjectionsAreSmaller) {
  const GptConfig config = named_config("toy-llama");
  for (const NamedParameter& parameter : Gpt(config).parameters()) {
    if (parameter.shape.rank() != 2) continue;
    const bool residual = parameter.name.ends_with(".proj.weight");
    EXPECT_DOUBLE_EQ(parameter.init.std, residual ? 0.02 / std::sqrt(2.0 * 2.0) : 0.02) << parameter.name;
  }
}

}  // namespace
}  // namespace reprise

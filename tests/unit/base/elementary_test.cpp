// SPDX-License-Identifier: Apache-2.0
// Error bounds of the float functions, in ulp of the exact result: against libm in double over a sweep of all floats, and against the
// correctly rounded tables of the reference data, special values included.
#include "base/elementary.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/elementary_wide.h"
#include "support/source_directory.h"
#include "support/tolerance.h"

namespace reprise {
namespace {

struct Function {
  const char* name;
  float (*value)(float);
  double (*exact)(double);
  double max_ulp;  // over inputs in [low, high]
  double low, high;
};

constexpr double kAll = 3.5e38;

double exact_gelu_tanh(double x) { return x < -1e3 ? -0.0 : x / (1.0 + std::exp(-math::gelu_tanh_argument(x))); }

const Function kFunctions[] = {
    {"exp", [](float x) { return math::exp(x); }, [](double x) { return std::exp(x); }, 1.1, -kAll, kAll},
    {"exp2", [](float x) { return math::exp2(x); }, [](double x) { return std::exp2(x); }, 1.1, -kAll, kAll},
    {"expm1", [](float x) { return math::expm1(x); }, [](double x) { return std::expm1(x); }, 1.5, -kAll, kAll},
    {"log", [](float x) { return math::log(x); }, [](double x) { return std::log(x); }, 1.0, -kAll, kAll},
    {"log2", [](float x) { return math::log2(x); }, [](double x) { return std::log2(x); }, 1.5, -kAll, kAll},
    {"log1p", [](float x) { return math::log1p(x); }, [](double x) { return std::log1p(x); }, 1.5, -kAll, kAll},
    {"tanh", [](float x) { return math::tanh(x); }, [](double x) { return std::tanh(x); }, 1.5, -kAll, kAll},
    {"erf", [](float x) { return math::erf(x); }, [](double x) { return std::erf(x); }, 1.5, -kAll, kAll},
    {"sigmoid", [](float x) { return math::sigmoid(x); }, [](double x) { return 1.0 / (1.0 + std::exp(-x)); }, 2.75, -kAll, kAll},
    {"silu", [](float x) { return math::silu(x); }, [](double x) { return x < -1e3 ? -0.0 : x / (1.0 + std::exp(-x)); }, 3.25, -kAll, kAll},
    {"gelu", [](float x) { return math::gelu(x); }, [](double x) { return x < -1e3 ? -0.0 : 0.5 * x * std::erfc(-x / std::sqrt(2.0)); },
     6.5, -kAll, kAll},
    {"gelu_tanh", [](float x) { return math::gelu_tanh(x); }, exact_gelu_tanh, 3.25, -1.0, kAll},
    {"gelu_tanh", [](float x) { return math::gelu_tanh(x); }, exact_gelu_tanh, 256.0, -kAll, -1.0},
    {"softplus", [](float x) { return math::softplus(x); },
     [](double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }, 2.0, -kAll, kAll},
    {"sin", [](float x) { return math::sin(x); }, [](double x) { return std::sin(x); }, 0.51, -kAll, kAll},
    {"cos", [](float x) { return math::cos(x); }, [](double x) { return std::cos(x); }, 0.51, -kAll, kAll},
    {"sqrt", [](float x) { return math::sqrt(x); }, [](double x) { return std::sqrt(x); }, 0.5, -kAll, kAll},
    {"rsqrt", [](float x) { return math::rsqrt(x); }, [](double x) { return 1.0 / std::sqrt(x); }, 1.5, -kAll, kAll},
};

/// Distance of `value` from `exact` in units of the last place of a float at `exact`.
double ulp_error(float value, double exact) {
  if (std::isnan(exact)) return std::isnan(value) ? 0.0 : INFINITY;
  if (std::isinf(static_cast<float>(exact)) || std::isinf(value)) {
    return value == static_cast<float>(exact) ? 0.0 : std::abs(exact) > 3.4028234e38 ? 1.0 : INFINITY;
  }
  const double ulp = std::ldexp(1.0, std::max(std::ilogb(exact == 0.0 ? 1e-300 : exact), -126) - 23);
  return std::abs(value - exact) / ulp;
}

TEST(Elementary, UlpBoundsOverAllFloats) {
  for (const Function& function : kFunctions) {
    double worst = 0.0;
    float at = 0.0f;
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 9973) {
      const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      if (!std::isnan(x) && !(x >= function.low && x <= function.high)) continue;
      const double error = ulp_error(function.value(x), function.exact(x));
      if (error > worst) worst = error, at = x;
    }
    EXPECT_LE(worst, function.max_ulp) << function.name << " at " << at;
    RecordProperty(std::string("ulp_") + function.name, std::to_string(worst));
    if (std::getenv("REPRISE_PRINT_ULP")) std::printf("%s %.3f at %.9g\n", function.name, worst, at);
  }
}

TEST(Elementary, UlpBoundsNearOne) {
  for (const Function& function : kFunctions) {
    double worst = 0.0;
    float at = 0.0f;
    for (int i = -400000; i <= 400000; ++i) {
      const float x = static_cast<float>(i) * 3.1e-5f;
      if (!(x >= function.low && x <= function.high)) continue;
      const double error = ulp_error(function.value(x), function.exact(x));
      if (error > worst) worst = error, at = x;
    }
    EXPECT_LE(worst, function.max_ulp) << function.name << " at " << at;
    if (std::getenv("REPRISE_PRINT_ULP")) std::printf("%s %.3f at %.9g\n", function.name, worst, at);
  }
}

TEST(Elementary, CorrectlyRoundedTablesOfTheReference) {
  const char* given = std::getenv("REPRISE_REFERENCE_DIR");
  const std::filesystem::path path =
      std::filesystem::path(given ? given : (test::source_directory() / "../shared/data/reference").string()) / "ops" /
      "elementary.safetensors";
  std::ifstream file(path, std::ios::binary);
  if (!file) GTEST_SKIP() << "no reference data at " << path;
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, bytes.data(), 8);
  const nlohmann::json header = nlohmann::json::parse(bytes.substr(8, header_size));
  const auto read = [&](const std::string& name, auto& out) {
    const auto offsets = header[name]["data_offsets"].get<std::vector<std::uint64_t>>();
    out.resize((offsets[1] - offsets[0]) / sizeof(out[0]));
    std::memcpy(out.data(), bytes.data() + 8 + header_size + offsets[0], offsets[1] - offsets[0]);
  };
  for (const Function& function : kFunctions) {
    std::vector<float> x;
    std::vector<float> rounded;
    std::vector<double> exact;
    read(std::string(function.name) + ".x", x);
    read(std::string(function.name) + ".f32", rounded);
    read(std::string(function.name) + ".f64", exact);
    ASSERT_EQ(x.size(), 200u);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!std::isnan(x[i]) && !(x[i] >= function.low && x[i] <= function.high) && !std::isinf(x[i])) continue;
      const float value = function.value(x[i]);
      EXPECT_LE(ulp_error(value, exact[i]), function.max_ulp) << function.name << "(" << x[i] << ") = " << value << ", exact " << exact[i];
      if (!std::isnan(rounded[i]) && (rounded[i] != 0.0f || i < 5)) {  // past the edge values the tables write an underflow as +0
        EXPECT_EQ(std::signbit(value), std::signbit(rounded[i])) << function.name << "(" << x[i] << ") = " << value;
      }
    }
  }
}

TEST(Elementary, PowFollowsLibmWithinHalfAnUlp) {
  const float specials[] = {0.0f, -0.0f, 1.0f, -1.0f, 2.0f, -2.0f, 0.5f, -0.5f, 3.0f, -3.0f, 2.5f, 1e-40f, -1e-40f, 1e38f, 16777217.0f,
                            INFINITY, -INFINITY, NAN, 0.1f, 127.5f, -149.0f, 0.99999994f};
  for (const float x : specials) {
    for (const float y : specials) {
      const double exact = std::pow(static_cast<double>(x), static_cast<double>(y));
      const float value = math::pow(x, y);
      EXPECT_LE(ulp_error(value, exact), 0.51) << x << "^" << y << " = " << value << ", exact " << exact;
      if (!std::isnan(exact)) {
        EXPECT_EQ(std::signbit(value), std::signbit(exact)) << x << "^" << y;
      }
    }
  }
  std::uint32_t state = 1;
  for (int i = 0; i < 300000; ++i) {
    state = state * 1664525u + 1013904223u;
    const float x = std::bit_cast<float>(state & 0x7FFFFFFFu);
    state = state * 1664525u + 1013904223u;
    const float y = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-26f;
    ASSERT_LE(ulp_error(math::pow(x, y), std::pow(static_cast<double>(x), static_cast<double>(y))), 0.51) << x << "^" << y;
  }
}

// Central differences of the double functions; the tolerance is the step's own error.
TEST(Elementary, DerivativesMatchDifferences) {
  struct Pair {
    const char* name;
    double (*f)(double);
    double (*slope)(double);
    float (*slope_f32)(float);
  };
  const Pair pairs[] = {
      {"silu", [](double x) { return math::silu(x); }, [](double x) { return math::silu_grad(x); },
       [](float x) { return math::silu_grad(x); }},
      {"gelu", [](double x) { return math::gelu(x); }, [](double x) { return math::gelu_grad(x); },
       [](float x) { return math::gelu_grad(x); }},
      {"gelu_tanh", [](double x) { return math::gelu_tanh(x); }, [](double x) { return math::gelu_tanh_grad(x); },
       [](float x) { return math::gelu_tanh_grad(x); }},
  };
  const double step = test::kDifferenceStep;
  for (const Pair& pair : pairs) {
    for (double x = -14.0; x <= 14.0; x += 0.0625) {
      const double slope = (pair.f(x + step) - pair.f(x - step)) / (2 * step);
      EXPECT_NEAR(pair.slope(x), slope, 10 * step * step) << pair.name << " " << x;
      EXPECT_NEAR(pair.slope_f32(static_cast<float>(x)), pair.slope(x), test::tolerance(DType::float32)) << pair.name << " " << x;
    }
    EXPECT_EQ(pair.slope_f32(INFINITY), 1.0f) << pair.name;
    EXPECT_EQ(pair.slope_f32(-INFINITY), 0.0f) << pair.name;
    EXPECT_TRUE(std::isnan(pair.slope_f32(NAN))) << pair.name;
  }
}

TEST(Elementary, SelectionsAtNanAndZeros) {
  EXPECT_TRUE(std::isnan(math::maximum(NAN, 1.0f)) && std::isnan(math::maximum(1.0f, NAN)));
  EXPECT_TRUE(std::isnan(math::minimum(NAN, 1.0f)) && std::isnan(math::minimum(1.0f, NAN)));
  EXPECT_FALSE(std::signbit(math::maximum(-0.0f, 0.0f)));
  EXPECT_TRUE(std::signbit(math::maximum(0.0f, -0.0f)));
  EXPECT_EQ(math::remainder(5.0f, -3.0f), -1.0f);
  EXPECT_EQ(math::remainder(-5.0f, 3.0f), 1.0f);
  EXPECT_EQ(math::round_even(2.5f), 2.0f);
  EXPECT_EQ(math::sign(-3.0f), -1.0f);
}

TEST(Elementary, NormalPairsOfTheReference) {
  // Draws 0..3 of stream seed 42 and the pairs Box and Muller's formula gives for them, in double.
  const math::NormalPair first = math::normal_pair(2632642643u, 2012563771u);
  EXPECT_NEAR(first.first, -0.9701897896896211, test::tolerance(DType::float64));
  EXPECT_NEAR(first.second, 0.1940189560319242, test::tolerance(DType::float64));
  const math::NormalPair second = math::normal_pair(314527917u, 1463989207u);
  EXPECT_NEAR(second.first, -1.235620741535049, test::tolerance(DType::float64));
  EXPECT_NEAR(second.second, 1.9239267500724069, test::tolerance(DType::float64));
}

}  // namespace
}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Backward formulas against central differences of the forward ones, in double; forward ones against their textbook definitions.
#include "base/row_formulas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "base/adamw_formula.h"
#include "base/attention_formula.h"
#include "support/tolerance.h"

namespace reprise {
namespace {

using Vector = std::vector<double>;

Vector numbers(std::size_t n, std::uint32_t seed) {
  Vector result(n);
  std::uint32_t state = seed;
  for (double& x : result) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<double>(static_cast<std::int32_t>(state)) * 0x1p-31;
  }
  return result;
}

auto loader(const Vector& x) {
  return [&x](std::size_t i) { return x[i]; };
}
auto storer(Vector& x) {
  return [&x](std::size_t i, double value) { x[i] = value; };
}

/// Central differences of <dy, f(x)>; expects `gradient` to agree to the step's error.
void expect_gradient(const std::function<Vector(const Vector&)>& f, Vector x, const Vector& dy, const Vector& gradient) {
  const double step = test::kDifferenceStep;
  const auto dot = [&](const Vector& y) { return std::inner_product(y.begin(), y.end(), dy.begin(), 0.0); };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + step;
    const double above = dot(f(x));
    x[i] = at - step;
    const double below = dot(f(x));
    x[i] = at;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * step), 50 * step * step * (1 + std::abs(gradient[i]))) << i;
  }
}

constexpr std::size_t kN = 37;

TEST(RowFormulas, Softmax) {
  const Vector x = numbers(kN, 1);
  const Vector dy = numbers(kN, 2);
  const auto f = [](const Vector& in) {
    Vector y(in.size());
    rows::softmax<double>(in.size(), loader(in), storer(y));
    return y;
  };
  const Vector y = f(x);
  double total = 0.0;
  for (std::size_t i = 0; i < kN; ++i) total += std::exp(x[i]);
  for (std::size_t i = 0; i < kN; ++i) EXPECT_NEAR(y[i], std::exp(x[i]) / total, test::tolerance(DType::float64, kN));
  Vector dx(kN);
  rows::softmax_backward<double>(kN, loader(y), loader(dy), storer(dx));
  expect_gradient(f, x, dy, dx);
  const Vector nothing(kN, -INFINITY);
  EXPECT_TRUE(std::isnan(f(nothing)[0]));
}

TEST(RowFormulas, LogSoftmaxAndLogSumExp) {
  const Vector x = numbers(kN, 1);
  const Vector dy = numbers(kN, 2);
  const auto f = [](const Vector& in) {
    Vector y(in.size());
    rows::log_softmax<double>(in.size(), loader(in), storer(y));
    return y;
  };
  const Vector y = f(x);
  const double lse = rows::logsumexp<double>(kN, loader(x));
  for (std::size_t i = 0; i < kN; ++i) EXPECT_NEAR(y[i], x[i] - lse, test::tolerance(DType::float64, kN));
  Vector dx(kN);
  rows::log_softmax_backward<double>(kN, loader(y), loader(dy), storer(dx));
  expect_gradient(f, x, dy, dx);
}

TEST(RowFormulas, Norms) {
  const Vector x = numbers(kN, 1);
  const Vector w = numbers(kN, 3);
  const Vector b = numbers(kN, 4);
  const Vector dy = numbers(kN, 2);
  const double eps = 1e-3;
  const auto layer = [&](const Vector& in) {
    Vector y(in.size());
    const auto row = rows::layer_norm_statistics<double>(kN, eps, loader(in));
    rows::layer_norm_apply(kN, row, loader(in), loader(w), loader(b), storer(y));
    return y;
  };
  const auto rms = [&](const Vector& in) {
    Vector y(in.size());
    rows::rms_norm_apply(kN, rows::rms_norm_statistics<double>(kN, eps, loader(in)), loader(in), loader(w), storer(y));
    return y;
  };
  Vector dx(kN);
  rows::layer_norm_backward(kN, rows::layer_norm_statistics<double>(kN, eps, loader(x)), loader(x), loader(dy), loader(w), storer(dx));
  expect_gradient(layer, x, dy, dx);
  rows::rms_norm_backward(kN, rows::rms_norm_statistics<double>(kN, eps, loader(x)), loader(x), loader(dy), loader(w), storer(dx));
  expect_gradient(rms, x, dy, dx);
  const Vector y = layer(x);
  double sum = 0.0;
  double size = 0.0;  // what a rounding of y is magnified to, all terms together
  for (std::size_t i = 0; i < kN; ++i) sum += (y[i] - b[i]) / w[i], size += 1 / std::abs(w[i]);
  EXPECT_NEAR(sum, 0.0, test::tolerance(DType::float64) * size);
}

TEST(RowFormulas, CrossEntropyWithEveryOption) {
  const Vector x = numbers(kN, 1);
  Vector weights = numbers(kN, 5);
  for (double& w : weights) w += 1.5;
  for (const double smoothing : {0.0, 0.1}) {
    for (const double z_loss : {0.0, 0.05}) {
      for (const double* class_weights : {static_cast<const double*>(nullptr), static_cast<const double*>(weights.data())}) {
        const rows::CrossEntropy<double> options{-100, smoothing, z_loss, class_weights};
        const auto f = [&](const Vector& in) { return Vector{rows::cross_entropy(kN, 7, options, loader(in)).loss}; };
        Vector dx(kN);
        const auto row = rows::cross_entropy(kN, 7, options, loader(x));
        rows::cross_entropy_backward(kN, 7, options, row.lse, 1.7, loader(x), storer(dx));
        expect_gradient(f, x, {1.7}, dx);
        double expected = z_loss * row.lse * row.lse;
        for (std::size_t j = 0; j < kN; ++j) {
          const double q = (j == 7 ? 1.0 - smoothing : 0.0) + smoothing / kN;
          expected += q * (class_weights ? class_weights[j] : 1.0) * (row.lse - x[j]);
        }
        EXPECT_NEAR(row.loss, expected, test::tolerance(DType::float64, kN) * std::max(1.0, expected));
      }
    }
  }
  const rows::CrossEntropy<double> options;
  EXPECT_EQ(rows::cross_entropy(kN, -100, options, loader(x)).loss, 0.0);
  Vector dx(kN, 1.0);
  rows::cross_entropy_backward(kN, -100, options, 0.0, HUGE_VAL, loader(x), storer(dx));
  EXPECT_EQ(dx, Vector(kN, 0.0));
}

TEST(RowFormulas, RopeBackwardIsTheTranspose) {
  const std::size_t size = 11;
  for (const auto layout : {rows::RopeLayout::half, rows::RopeLayout::interleaved, rows::RopeLayout::interleaved_litgpt}) {
    for (const std::size_t n : {std::size_t{8}, std::size_t{3}}) {
      if (n == 3 && layout != rows::RopeLayout::half) continue;
      const Vector x = numbers(size, 1);
      const Vector dy = numbers(size, 2);
      const Vector angle = numbers(n, 3);
      const auto cos = [&](std::size_t i) { return std::cos(angle[i]); };
      const auto sin = [&](std::size_t i) { return std::sin(angle[i]); };
      const auto f = [&](const Vector& in) {
        Vector y(size);
        rows::rope<double>(layout, n, size, loader(in), cos, sin, storer(y));
        return y;
      };
      Vector dx(size);
      rows::rope_backward<double>(layout, n, size, loader(dy), cos, sin, storer(dx));
      expect_gradient(f, x, dy, dx);
      if (n == 8 && layout == rows::RopeLayout::half) {
        EXPECT_NEAR(f(x)[1], x[1] * std::cos(angle[1]) - x[5] * std::sin(angle[1]), test::tolerance(DType::float64));
      }
    }
  }
}

TEST(RowFormulas, DropoutKeepsTheComplementOfItsRate) {
  int kept = 0;
  for (std::uint64_t i = 0; i < 40000; ++i) kept += rows::dropout(1.0f, philox_word(1, i), 0.25f) != 0.0f;
  EXPECT_NEAR(kept, 30000, 5 * std::sqrt(40000 * 0.25 * 0.75));
  EXPECT_EQ(rows::dropout(3.0f, 0xFFFFFFFFu, 1.0f), 0.0f);
  EXPECT_EQ(rows::dropout(3.0f, 0u, 0.0f), 3.0f);
}

// One step worked by hand from m = v = 0: m' / (1 - b1) = g and sqrt(v' / (1 - b2)) = |g|, so the step is lr * sign(g) up to eps.
TEST(AdamW, FirstStepMovesByTheLearningRate) {
  const auto step = optimizer::adamw_step<double>(1e-2, 0.9, 0.95, 1e-8, 0.1, 1);
  const auto result = optimizer::adamw_element(step, 2.0, -0.5, 0.0, 0.0);
  EXPECT_NEAR(result.p, 2.0 * (1 - 1e-3) + 1e-2 / (1 + 1e-8 / 0.5), test::tolerance(DType::float64));
  EXPECT_NEAR(result.m, -0.05, test::tolerance(DType::float64));
  EXPECT_NEAR(result.v, 0.0125, test::tolerance(DType::float64));
  EXPECT_NEAR(optimizer::integer_power(0.95, 1000), std::pow(0.95, 1000), test::tolerance(DType::float64, 1000) * std::pow(0.95, 1000));
}

TEST(AdamW, StochasticRoundingIsUnbiasedAndKeepsRepresentable) {
  const float x = 1.0f + 0x1p-9f;  // a quarter of the way to the next bfloat16
  double sum = 0.0;
  for (std::uint64_t i = 0; i < 40000; ++i) {
    sum += to_float(
        optimizer::stochastic_bfloat16(x, philox_word(3, i, optimizer::rounding_subsequence(5, 2, optimizer::Rounded::parameter))));
  }
  EXPECT_NEAR(sum / 40000, x, 5 * 0x1p-7 * std::sqrt(0.25 * 0.75 / 40000));
  EXPECT_EQ(to_float(optimizer::stochastic_bfloat16(1.5f, 0xFFFFFFFFu)), 1.5f);
  EXPECT_EQ(to_float(optimizer::stochastic_bfloat16(-INFINITY, 0xFFFFFFFFu)), -INFINITY);
  EXPECT_TRUE(std::isnan(to_float(optimizer::stochastic_bfloat16(NAN, 0xFFFFFFFFu))));
}

struct AttentionCase {
  attention::Config config;
  Vector q, k, v, bias, dout;
  std::vector<std::uint8_t> mask;
};

attention::View<const double> view4(const double* data, std::int64_t heads, std::int64_t rows, std::int64_t width) {
  return {data, {heads * rows * width, rows * width, width, 1}};
}

attention::Inputs<double> inputs_of(const AttentionCase& c) {
  const auto& s = c.config;
  attention::Inputs<double> in;
  in.q = view4(c.q.data(), s.q_heads, s.queries, s.width);
  in.k = view4(c.k.data(), s.kv_heads, s.keys, s.width);
  in.v = view4(c.v.data(), s.kv_heads, s.keys, s.value_width);
  if (!c.bias.empty()) in.bias = {c.bias.data(), {0, s.queries * s.keys, s.keys, 1}};
  if (!c.mask.empty()) in.mask = {c.mask.data(), {0, 0, s.keys, 1}};
  return in;
}

Vector attention_of(const AttentionCase& c, Vector* lse = nullptr) {
  const auto& s = c.config;
  Vector out(static_cast<std::size_t>(s.batch * s.q_heads * s.queries * s.value_width));
  Vector rows_lse(static_cast<std::size_t>(s.batch * s.q_heads * s.queries));
  Vector workspace(static_cast<std::size_t>(128 + s.value_width));
  const attention::View<double> view{out.data(), {s.q_heads * s.queries * s.value_width, s.queries * s.value_width, s.value_width, 1}};
  const auto in = inputs_of(c);
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.q_heads; ++h) {
      for (std::int64_t i = 0; i < s.queries; ++i) attention::forward_row(s, in, view, rows_lse.data(), b, h, i, workspace.data());
    }
  }
  if (lse) *lse = rows_lse;
  return out;
}

void expect_attention_gradients(const AttentionCase& c) {
  const auto& s = c.config;
  Vector lse;
  const Vector out = attention_of(c, &lse);
  Vector dq(c.q.size());
  Vector dk(c.k.size());
  Vector dv(c.v.size());
  Vector workspace(static_cast<std::size_t>(s.keys * (s.width + s.value_width) + s.width));
  attention::Gradients<double> grads;
  grads.dq = {dq.data(), {s.q_heads * s.queries * s.width, s.queries * s.width, s.width, 1}};
  grads.dk = {dk.data(), {s.kv_heads * s.keys * s.width, s.keys * s.width, s.width, 1}};
  grads.dv = {dv.data(), {s.kv_heads * s.keys * s.value_width, s.keys * s.value_width, s.value_width, 1}};
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t kv = 0; kv < s.kv_heads; ++kv) {
      attention::backward_head(s, inputs_of(c), view4(out.data(), s.q_heads, s.queries, s.value_width),
                               view4(c.dout.data(), s.q_heads, s.queries, s.value_width), lse.data(), grads, b, kv, workspace.data());
    }
  }
  const auto with = [&](Vector AttentionCase::*member) {
    return [&c, member](const Vector& x) {
      AttentionCase changed = c;
      changed.*member = x;
      return attention_of(changed);
    };
  };
  expect_gradient(with(&AttentionCase::q), c.q, c.dout, dq);
  expect_gradient(with(&AttentionCase::k), c.k, c.dout, dk);
  expect_gradient(with(&AttentionCase::v), c.v, c.dout, dv);
}

AttentionCase attention_case(attention::Config config) {
  const auto size = [](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) { return static_cast<std::size_t>(a * b * c * d); };
  return {config, numbers(size(config.batch, config.q_heads, config.queries, config.width), 1),
          numbers(size(config.batch, config.kv_heads, config.keys, config.width), 2),
          numbers(size(config.batch, config.kv_heads, config.keys, config.value_width), 3), {},
          numbers(size(config.batch, config.q_heads, config.queries, config.value_width), 4), {}};
}

TEST(Attention, ForwardIsSoftmaxOfScaledScores) {
  AttentionCase c = attention_case({.batch = 1, .q_heads = 1, .queries = 3, .keys = 300, .width = 5, .value_width = 4, .scale = 0.4});
  Vector lse;
  const Vector out = attention_of(c, &lse);
  for (std::size_t i = 0; i < 3; ++i) {
    Vector scores(300);
    for (std::size_t j = 0; j < 300; ++j) scores[j] = 0.4 * std::inner_product(&c.q[i * 5], &c.q[i * 5] + 5, &c.k[j * 5], 0.0);
    double total = 0.0;
    for (const double s : scores) total += std::exp(s);
    EXPECT_NEAR(lse[i], std::log(total), test::tolerance(DType::float64, 300));
    for (std::size_t d = 0; d < 4; ++d) {
      double expected = 0.0;
      for (std::size_t j = 0; j < 300; ++j) expected += std::exp(scores[j]) / total * c.v[j * 4 + d];
      EXPECT_NEAR(out[i * 4 + d], expected, test::tolerance(DType::float64, 300));
    }
  }
}

TEST(Attention, GradientsOfCausalGroupedWindowedAndCapped) {
  expect_attention_gradients(attention_case({.batch = 2, .q_heads = 4, .kv_heads = 2, .queries = 5, .keys = 5, .width = 3, .value_width = 2,
                                             .scale = 0.7, .causal = true}));
  expect_attention_gradients(attention_case({.q_heads = 2, .kv_heads = 1, .queries = 4, .keys = 7, .width = 3, .value_width = 3,
                                             .scale = 0.7, .causal = true, .offset = 3, .window = 3, .softcap = 0.8}));
  expect_attention_gradients(attention_case({.queries = 4, .keys = 6, .width = 3, .value_width = 3, .dropout = 0.4, .seed = 9}));
}

TEST(Attention, MaskBiasAndDeadRows) {
  AttentionCase c = attention_case({.q_heads = 2, .kv_heads = 2, .queries = 3, .keys = 4, .width = 2, .value_width = 2});
  c.bias = numbers(2 * 3 * 4, 6);
  c.mask = {1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0};
  Vector lse;
  const Vector out = attention_of(c, &lse);
  EXPECT_EQ(out[1 * 2], 0.0);
  EXPECT_EQ(lse[1], -INFINITY);
  expect_attention_gradients(c);
  c.v[1 * 2] = NAN;  // key 1 is seen by query 2 only
  EXPECT_FALSE(std::isnan(attention_of(c)[0]));
  EXPECT_TRUE(std::isnan(attention_of(c)[2 * 2]));
}

}  // namespace
}  // namespace reprise

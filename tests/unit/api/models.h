// SPDX-License-Identifier: Apache-2.0
// Small models and numbers for the tests of steps and functions.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reprise/reprise.h"

namespace reprise::test {

/// x [n, 3] -> x W' + b [n, 2]
struct Line : Module {
  Line() : fc(add_module("fc", Linear(3, 2, true, Initializer::normal(0.5)))) {}
  Tensor operator()(const Tensor& x) const { return fc(x); }

  Linear fc;
};

/// Two layers with a norm and dropout between them.
struct Mlp2 : Module {
  Mlp2() : fc(add_module("fc", Linear(3, 8, true, Initializer::normal(0.5)))), norm(add_module("norm", LayerNorm(8, 1e-5, true, true))),
           proj(add_module("proj", Linear(8, 2, false, Initializer::normal(0.5)))) {}
  Tensor operator()(const Tensor& x, double dropout = 0) const { return proj(norm(fc(x).gelu()).dropout(dropout)); }

  Linear fc;
  LayerNorm norm;
  Linear proj;
};

inline std::vector<TensorSpec> line_inputs(std::int64_t rows, DType dtype = DType::float64) {
  return {{"x", {dtype, {rows, 3}}}, {"y", {dtype, {rows, 2}}}};
}

/// Numbers in [-1, 1] that follow from `seed` and their place.
template <class T = double>
std::vector<T> numbers(std::size_t count, double seed) {
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<T>(std::sin(1.7 * static_cast<double>(i) + seed));
  return result;
}

inline Tensor squared_error(const Tensor& out, const Tensor& wanted) { return (out - wanted).pow(2).mean(); }

}  // namespace reprise::test

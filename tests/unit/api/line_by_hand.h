// SPDX-License-Identifier: Apache-2.0
// A training step of the model Line (models.h), written out: loss, gradients, clipping and AdamW in double.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "reprise/step.h"

namespace reprise::test {

/// One parameter under AdamW (Loshchilov and Hutter, 2019), in double.
struct Adam {
  std::vector<double> p, m, v;
  double decay = 0;

  void update(const std::vector<double>& g, const AdamWOptions& o, double rate, int step) {
    m.resize(p.size()), v.resize(p.size());
    for (std::size_t i = 0; i < p.size(); ++i) {
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * g[i];
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * g[i] * g[i];
      const double mean = m[i] / (1 - std::pow(o.beta1, step));
      const double square = v[i] / (1 - std::pow(o.beta2, step));
      p[i] = p[i] * (1 - rate * decay) - rate * mean / (std::sqrt(square) + o.eps);
    }
  }
};

/// mean((x W' + b - y)^2) of n rows, and its gradients.
struct LineByHand {
  Adam w, b;
  double loss = 0, norm = 0;

  void step(const std::vector<double>& x, const std::vector<double>& y, const AdamWOptions& options, double rate, int count) {
    const std::size_t n = y.size() / 2;
    std::vector<double> gw(6), gb(2);
    loss = 0;
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t o = 0; o < 2; ++o) {
        double out = b.p[o];
        for (std::size_t i = 0; i < 3; ++i) out += x[3 * r + i] * w.p[3 * o + i];
        const double error = out - y[2 * r + o];
        loss += error * error / static_cast<double>(2 * n);
        for (std::size_t i = 0; i < 3; ++i) gw[3 * o + i] += error * x[3 * r + i] / static_cast<double>(n);
        gb[o] += error / static_cast<double>(n);
      }
    }
    norm = 0;
    for (const auto* g : {&gw, &gb}) {
      for (const double one : *g) norm += one * one;
    }
    norm = std::sqrt(norm);
    if (options.max_norm > 0 && norm > options.max_norm) {
      for (auto* g : {&gw, &gb}) {
        for (double& one : *g) one *= options.max_norm / (norm + 1e-6);
      }
    }
    w.decay = options.weight_decay;  // vectors do not decay
    w.update(gw, options, rate, count);
    b.update(gb, options, rate, count);
  }
};

}  // namespace reprise::test

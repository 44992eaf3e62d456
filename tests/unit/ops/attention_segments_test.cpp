// SPDX-License-Identifier: Apache-2.0
// Attention with segments against a softmax written out in float64, as a whole and decomposed.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/philox.h"
#include "interpreter/interpreter.h"
#include "ops/builders.h"
#include "ops/op_table.h"
#include "support/tolerance.h"

namespace reprise {
namespace {

constexpr std::int64_t kTokens = 140;  // more than a key block
constexpr std::int64_t kWidth = 3;
constexpr double kScale = 0.4;

std::vector<double> numbers(std::size_t n, std::uint64_t seed) {
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = 2.0 * uniform_float(philox_word(seed, i)) - 1;
  return x;
}

/// Softmax over the keys of the query's own stretch of equal ids, up to itself, from the definition.
std::vector<double> expected_output(const std::vector<double>& q, const std::vector<double>& k, const std::vector<double>& v,
                                    const std::vector<std::int64_t>& ids) {
  std::vector<double> out(q.size());
  for (std::size_t i = 0; i < kTokens; ++i) {
    std::size_t first = i;
    while (first > 0 && ids[first - 1] == ids[i]) --first;
    double total = 0;
    std::vector<double> sum(kWidth);
    for (std::size_t j = first; j <= i; ++j) {
      double score = 0;
      for (std::size_t d = 0; d < kWidth; ++d) score += q[i * kWidth + d] * k[j * kWidth + d];
      const double weight = std::exp(kScale * score);
      total += weight;
      for (std::size_t d = 0; d < kWidth; ++d) sum[d] += weight * v[j * kWidth + d];
    }
    for (std::size_t d = 0; d < kWidth; ++d) out[i * kWidth + d] = sum[d] / total;
  }
  return out;
}

TEST(AttentionSegments, AreWrittenOutSoftmaxes) {
  const std::size_t size = kTokens * kWidth;
  const std::vector<double> q = numbers(size, 1);
  const std::vector<double> k = numbers(size, 2);
  const std::vector<double> v = numbers(size, 3);
  std::vector<std::int64_t> ids;
  for (std::int64_t t = 0; t < kTokens; ++t) ids.push_back(t < 4 ? 9 : t < 5 ? 2 : t < 136 ? 9 : t);  // an id that comes back starts anew
  const std::vector<double> expected = expected_output(q, k, v, ids);

  Trace trace;
  Builder b(trace);
  const Shape shape{1, 1, kTokens, kWidth};
  ops::AttentionInputs inputs;
  const auto input = [&](const char* name) { return trace.add_input({DType::float64, shape, Device::cpu}, Role::batch, name); };
  inputs.q = input("q");
  inputs.k = input("k");
  inputs.v = input("v");
  inputs.segments = trace.add_input({DType::int64, Shape{1, kTokens}, Device::cpu}, Role::batch, "ids");
  AttentionAttrs attrs;
  attrs.causal = true;
  attrs.scale = kScale;
  const ValueId whole = ops::attention(b, inputs, attrs).out;
  const Node node = trace.nodes.back();
  const ValueId decomposed = op_row(op::attention).decompose(b, node, node.inputs)[0];
  trace.outputs = {whole, decomposed};
  const std::vector<HostTensor> results =
      interpret(trace, std::vector<HostTensor>{HostTensor::of<double>(shape, q), HostTensor::of<double>(shape, k),
                                               HostTensor::of<double>(shape, v), HostTensor::of<std::int64_t>({1, kTokens}, ids)});
  for (const HostTensor& result : results) {
    const auto values = result.as<double>();
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_TRUE(test::near(values[i], expected[i], test::tolerance(DType::float64, kTokens)))
          << i << ": " << values[i] << " and " << expected[i];
    }
  }
}

}  // namespace
}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// What models for tests of recomputation are made with.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nn/checkpoint.h"
#include "nn/layers.h"
#include "ops/builders.h"
#include "support/recompute_case.h"

namespace reprise::test {

inline const Initializer kSmall = Initializer::normal(0.02);

/// The input `x` of a step: no gradient.
inline Tensor batch_input(Tracer& tracer, const Shape& shape) {
  return tracer.input("x", {DType::float32, shape, Device::cpu}, Role::batch);
}

using CustomBody = std::function<std::vector<ValueId>(Builder&, const std::vector<ValueId>&)>;

/// A function of x with its derivative written out, all outputs of x's type. `forward`: x -> outputs; `backward`: (x, outputs, their
/// gradients) -> gx: what it reads is what the function saves.
inline std::vector<Tensor> custom_function_of(const Tensor& x, std::size_t outputs, const CustomBody& forward, const CustomBody& backward) {
  const TensorType type = x.type();
  const auto body = [&](const char* name, std::size_t inputs, const CustomBody& fn) {
    Trace trace;
    trace.name = name;
    std::vector<ValueId> in;
    for (std::size_t i = 0; i < inputs; ++i) in.push_back(trace.add_input(type, Role::batch, "in" + std::to_string(i)));
    Builder b(trace);
    trace.outputs = fn(b, in);
    return trace;
  };
  Tracer& tracer = x.tracer();
  std::vector<Tensor> result;
  const std::vector<ValueId> made =
      ops::custom_function(tracer.builder(), {x.id()}, body("f", 1, forward), body("f_backward", 1 + 2 * outputs, backward), "f");
  for (const ValueId id : made) result.emplace_back(tracer, id);
  return result;
}

/// x^2, which saves its input.
inline Tensor square_saving_input(const Tensor& x) {
  return custom_function_of(
      x, 1, [](Builder& b, const auto& in) { return std::vector{ops::mul(b, in[0], in[0])}; },
      [](Builder& b, const auto& in) { return std::vector{ops::mul(b, ops::mul_scalar(b, in[0], 2), in[2])}; })[0];
}

/// e^x, which saves its output.
inline Tensor exp_saving_output(const Tensor& x) {
  return custom_function_of(
      x, 1, [](Builder& b, const auto& in) { return std::vector{ops::exp(b, in[0])}; },
      [](Builder& b, const auto& in) { return std::vector{ops::mul(b, in[2], in[1])}; })[0];
}

}  // namespace reprise::test

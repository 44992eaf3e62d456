// SPDX-License-Identifier: Apache-2.0
// The models whose checkpointing was measured: what each is made of, and where its regions lie.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "checkpoint/form.h"
#include "nn/checkpoint.h"
#include "nn/layers.h"

namespace reprise::test {

struct CheckpointCase {
  std::string_view name;
  /// Adds inputs and outputs, the loss first.
  std::function<void(Tracer&, const Form&)> model;
  std::string_view trainable = "*";  // globs of the inputs of role `param` that get a gradient
  bool attention_is_products = false;  // measured as two products forward and four backward
};

/// All that reprise can express.
std::vector<CheckpointCase> checkpoint_cases();
std::vector<CheckpointCase> block_cases();
std::vector<CheckpointCase> attention_cases();
std::vector<CheckpointCase> structure_cases();
std::vector<CheckpointCase> in_place_cases();

/// Why a measured case is not among them; empty for one that is, or is not known.
std::string_view reason_left_out(std::string_view name);

// ---- what the models are made of ---------------------------------------------------------------------------------

inline constexpr std::int64_t kWidth = 16;
inline constexpr std::int64_t kHidden = 32;
inline const Initializer kFresh = Initializer::normal(0.2);

/// x + dropout(l2(gelu(l1(x))))
struct ToyBlock : Module {
  explicit ToyBlock(double dropout_in = 0) : dropout(dropout_in) {
    l1 = add_module("l1", Linear(kWidth, kHidden, true, kFresh));
    l2 = add_module("l2", Linear(kHidden, kWidth, true, kFresh));
  }
  Tensor operator()(const Tensor& x) const { return x + l2(l1(x).gelu()).dropout(dropout); }

  double dropout;
  Linear l1, l2;
};

/// `fn` in a region of the form's policy.
template <class Function>
auto inside(Tracer& tracer, std::string_view region, const Form& form, Function&& fn) {
  return checkpoint(tracer, region, std::forward<Function>(fn), form.region);
}

/// x [2, 8, 16]; of role `param` it gets a gradient.
inline Tensor rows_input(Tracer& tracer, Role role = Role::param, std::string_view name = "x") {
  return tracer.input(name, {DType::float32, {2, 8, kWidth}, Device::cpu}, role);
}

/// A matrix [16, 16] with a gradient.
inline Tensor matrix_input(Tracer& tracer) { return tracer.input("w", {DType::float32, {kWidth, kWidth}, Device::cpu}, Role::param); }

inline void sum_of_squares(Tracer& tracer, const Tensor& y) { tracer.output(y.square().sum()); }

}  // namespace reprise::test

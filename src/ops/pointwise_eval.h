// SPDX-License-Identifier: Apache-2.0
// Reference evaluation of pointwise ops: a function of numbers applied over broadcast inputs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/eval_context.h"
#include "ops/strided_walk.h"

namespace reprise {

/// Input i broadcast to output 0's shape.
template <class C>
std::vector<C> load_broadcast(const EvalContext& c, std::size_t i) {
  std::vector<C> values = c.load<C>(i);
  if (c.in_type(i).shape == c.out_type().shape) return values;
  const std::vector<std::int64_t> from = broadcast_offsets(c.in_type(i).shape, c.out_type().shape);
  std::vector<C> result(from.size());
  for (std::size_t k = 0; k < from.size(); ++k) result[k] = values[static_cast<std::size_t>(from[k])];
  return result;
}

/// Output 0 = f(x).
template <class C, class F>
void map_one(const EvalContext& c, F&& f) {
  std::vector<C> x = c.load<C>(0);
  for (C& value : x) value = f(value);
  c.store<C>(0, x);
}

/// Output 0 = f(x, y), computed in C and stored as R.
template <class C, class R = C, class F>
void map_two(const EvalContext& c, F&& f) {
  const std::vector<C> x = load_broadcast<C>(c, 0);
  const std::vector<C> y = load_broadcast<C>(c, 1);
  std::vector<R> result(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) result[k] = static_cast<R>(f(x[k], y[k]));
  c.store<R>(0, result);
}

}  // namespace reprise

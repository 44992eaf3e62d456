// SPDX-License-Identifier: Apache-2.0
#include "ops/eval_context.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/dtype_of.h"
#include "base/error.h"
#include "ops/op_table.h"

namespace reprise {
namespace {

template <class T, class C>
C widen(T x) {
  return static_cast<C>(x);
}
template <class T, class C>
  requires std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>
C widen(T x) {
  return static_cast<C>(to_float(x));
}

/// The float below |x| with its last bit set where something was cut off: rounding that once more, to a 16-bit type, gives
/// what rounding x itself would (Boldo and Melquiond, "When double rounding is odd", 2005).
float round_to_odd(double x) {
  const auto nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) == x || !(std::abs(nearest) < std::numeric_limits<float>::infinity())) return nearest;
  const float below = std::abs(static_cast<double>(nearest)) > std::abs(x) ? std::nextafter(nearest, 0.0f) : nearest;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(below) | 1u);
}
inline float round_to_odd(float x) { return x; }
inline float round_to_odd(std::int64_t x) { return round_to_odd(static_cast<double>(x)); }

template <class T, class C>
T narrow(C x) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    return to_bfloat16(round_to_odd(x));
  } else if constexpr (std::is_same_v<T, float16>) {
    return to_float16(round_to_odd(x));
  } else if constexpr (std::is_same_v<T, bool>) {
    return x != C{};
  } else {
    return static_cast<T>(x);
  }
}

}  // namespace

template <class C>
std::vector<C> EvalContext::load(std::size_t i) const {
  if (i >= inputs_.size()) fail_op(node_.opcode, fmt::format("reads in evaluate input {} of {}", i, inputs_.size()));
  const ArrayRef& array = inputs_[i];
  std::vector<C> values(static_cast<std::size_t>(array.type->shape.numel()));
  with_stored_type(array.type->dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto* const data = static_cast<const T*>(array.data);
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = widen<T, C>(data[k]);
  });
  return values;
}

template <class C>
void EvalContext::store(std::size_t i, std::span<const C> values) const {
  if (i >= outputs_.size()) fail_op(node_.opcode, fmt::format("writes in evaluate output {} of {}", i, outputs_.size()));
  const ArrayRef& array = outputs_[i];
  if (static_cast<std::int64_t>(values.size()) != array.type->shape.numel()) {
    fail_op(node_.opcode, fmt::format("gives in evaluate {} elements for output {}, {}", values.size(), i, array.type->str()));
  }
  with_stored_type(array.type->dtype, [&](auto zero) {
    using T = decltype(zero);
    auto* const data = static_cast<T*>(array.data);
    for (std::size_t k = 0; k < values.size(); ++k) data[k] = narrow<T, C>(values[k]);
  });
}

template std::vector<float> EvalContext::load<float>(std::size_t) const;
template std::vector<double> EvalContext::load<double>(std::size_t) const;
template std::vector<std::int64_t> EvalContext::load<std::int64_t>(std::size_t) const;
template void EvalContext::store<float>(std::size_t, std::span<const float>) const;
template void EvalContext::store<double>(std::size_t, std::span<const double>) const;
template void EvalContext::store<std::int64_t>(std::size_t, std::span<const std::int64_t>) const;

}  // namespace reprise

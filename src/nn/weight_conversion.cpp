// SPDX-License-Identifier: Apache-2.0
#include "nn/weight_conversion.h"

#include <cmath>
#include <cstring>

#include "base/error.h"

namespace reprise {
namespace {

template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <class T>
auto widened(T value) {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) return value;
  else return to_float(value);
}

template <class To, class From>
To narrowed(From value) {
  if constexpr (std::is_same_v<To, double> || std::is_same_v<To, float>) return static_cast<To>(value);
  else if constexpr (std::is_same_v<To, bfloat16>) return to_bfloat16(static_cast<float>(value));
  else return to_float16(static_cast<float>(value));
}

/// Calls `f` with a value of the element type.
template <class F>
auto with_element(DType dtype, const F& f) {
  switch (dtype) {
    case DType::float32: return f(float{});
    case DType::float64: return f(double{});
    case DType::bfloat16: return f(bfloat16{});
    case DType::float16: return f(float16{});
    default: throw InternalError("weights are of floating types");
  }
}

}  // namespace

void convert_elements(DType from_dtype, std::span<const std::byte> from, DType to_dtype, std::span<std::byte> to) {
  const std::size_t count = from.size() / dtype_size(from_dtype);
  REPRISE_CHECK(count * dtype_size(from_dtype) == from.size() && count * dtype_size(to_dtype) == to.size(),
                "conversion between spans of other sizes");
  if (from.empty()) return;
  if (from_dtype == to_dtype) {
    std::memcpy(to.data(), from.data(), from.size());
    return;
  }
  with_element(from_dtype, [&](auto from_type) {
    with_element(to_dtype, [&](auto to_type) {
      using From = decltype(from_type);
      using To = decltype(to_type);
      for (std::size_t i = 0; i < count; ++i) {
        const To value = narrowed<To>(widened(load<From>(from.data() + i * sizeof(From))));
        std::memcpy(to.data() + i * sizeof(To), &value, sizeof(To));
      }
    });
  });
}

std::optional<std::size_t> first_not_finite(DType dtype, std::span<const std::byte> elements) {
  return with_element(dtype, [&](auto type) -> std::optional<std::size_t> {
    using T = decltype(type);
    for (std::size_t i = 0; i < elements.size() / sizeof(T); ++i) {
      if (!std::isfinite(widened(load<T>(elements.data() + i * sizeof(T))))) return i;
    }
    return std::nullopt;
  });
}

double element_value(DType dtype, const std::byte* element) {
  return with_element(dtype, [&](auto type) { return static_cast<double>(widened(load<decltype(type)>(element))); });
}

}  // namespace reprise

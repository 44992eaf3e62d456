// SPDX-License-Identifier: Apache-2.0
// From C++ types to dtypes and back, and from bytes to elements of a type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/dtype.h"

namespace reprise {

/// The dtype stored as T.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::float32;
  if constexpr (std::is_same_v<T, double>) return DType::float64;
  if constexpr (std::is_same_v<T, bfloat16>) return DType::bfloat16;
  if constexpr (std::is_same_v<T, float16>) return DType::float16;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::int32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::int64;
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
}

/// Calls `f` with a zero of the type that `dtype` is stored as, and returns what it returns.
template <class F>
auto with_stored_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::float32: return f(float{});
    case DType::float64: return f(double{});
    case DType::bfloat16: return f(bfloat16{});
    case DType::float16: return f(float16{});
    case DType::int32: return f(std::int32_t{});
    case DType::int64: return f(std::int64_t{});
    case DType::boolean: break;
  }
  return f(bool{});
}

/// The elements of T that lie in `bytes`, aligned for them; const T of const bytes.
template <class T>
std::span<T> elements_of(std::span<std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>> bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

}  // namespace reprise

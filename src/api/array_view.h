// SPDX-License-Identifier: Apache-2.0
// Elements in somebody else's memory, with their dtype: what programs are fed with.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "base/dtype_of.h"

namespace reprise {

/// A dense row-major array. It holds no elements: they must live as long as the call it is given to.
/// T: float, double, bfloat16, float16, std::int32_t, std::int64_t or bool (in a span; a std::vector<bool> holds bits).
class ArrayView {
 public:
  template <class T>
  ArrayView(std::span<T> elements)  // NOLINT: implicit on purpose, as below
      : dtype_(dtype_of<std::remove_const_t<T>>()), bytes_(std::as_bytes(elements)) {}
  template <class T>
  ArrayView(const std::vector<T>& elements)  // NOLINT
      : ArrayView(std::span<const T>(elements)) {
    static_assert(!std::is_same_v<T, bool>, "a std::vector<bool> is no array of bool");
  }
  template <class T, std::size_t N>
  ArrayView(const std::array<T, N>& elements)  // NOLINT
      : ArrayView(std::span<const T>(elements)) {}

  DType dtype() const { return dtype_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size() / dtype_size(dtype_); }

 private:
  DType dtype_;
  std::span<const std::byte> bytes_;
};

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// A tensor in host memory that owns its bytes, dense and row-major: what goes into the interpreter and comes out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/dtype_of.h"
#include "ir/shape.h"

namespace reprise {

class HostTensor {
 public:
  HostTensor() = default;
  /// Zeros.
  explicit HostTensor(const TensorType& type);
  /// Copies `data` of type.bytes() bytes.
  HostTensor(const TensorType& type, const void* data);

  /// Copies elements of T's own dtype: `HostTensor::of<float>({2, 3}, values)`. UserError when the count does not fit.
  template <class T>
  static HostTensor of(const Shape& shape, std::span<const T> elements) {
    HostTensor tensor(TensorType{dtype_of<T>(), shape});
    tensor.require_count(elements.size());
    std::copy(elements.begin(), elements.end(), tensor.as<T>().begin());
    return tensor;
  }
  template <class T>
  static HostTensor of(const Shape& shape, const std::vector<T>& elements) {
    return of<T>(shape, std::span<const T>(elements));
  }
  template <class T>
  static HostTensor scalar(T element) {
    return of<T>(Shape{}, std::span<const T>(&element, 1));
  }
  /// Converts numbers to the type's dtype: to nearest even, the 16-bit types through float32.
  static HostTensor from_numbers(const TensorType& type, std::span<const double> numbers);

  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  std::size_t size() const { return static_cast<std::size_t>(type_.shape.numel()); }
  std::span<std::byte> bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  /// Elements as stored; InternalError when T is not the dtype's type.
  template <class T>
  std::span<T> as() {
    require_dtype(dtype_of<T>());
    return {reinterpret_cast<T*>(bytes_.data()), size()};
  }
  template <class T>
  std::span<const T> as() const {
    require_dtype(dtype_of<T>());
    return {reinterpret_cast<const T*>(bytes_.data()), size()};
  }
  /// All elements as double; exact but for int64 beyond 2^53.
  std::vector<double> numbers() const;
  double number(std::size_t i = 0) const;
  /// Index of the first NaN or infinity, or size().
  std::size_t first_nonfinite() const;

  /// Equal in type and in every bit.
  friend bool operator==(const HostTensor& a, const HostTensor& b) = default;

 private:
  void require_count(std::size_t count) const;
  void require_dtype(DType wanted) const;

  TensorType type_;
  std::vector<std::byte> bytes_;
};

}  // namespace reprise

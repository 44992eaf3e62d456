// SPDX-License-Identifier: Apache-2.0
#include "interpreter/host_tensor.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/error.h"

namespace reprise {
namespace {

template <class T>
T narrow(double x) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    return to_bfloat16(static_cast<float>(x));
  } else if constexpr (std::is_same_v<T, float16>) {
    return to_float16(static_cast<float>(x));
  } else if constexpr (std::is_same_v<T, bool>) {
    return x != 0;
  } else {
    return static_cast<T>(x);
  }
}

template <class T>
double widen(T x) {
  if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>) {
    return static_cast<double>(to_float(x));
  } else {
    return static_cast<double>(x);
  }
}

}  // namespace

HostTensor::HostTensor(const TensorType& type) : type_(type), bytes_(static_cast<std::size_t>(type.bytes())) {}

HostTensor::HostTensor(const TensorType& type, const void* data) : HostTensor(type) {
  if (!bytes_.empty()) std::memcpy(bytes_.data(), data, bytes_.size());
}

HostTensor HostTensor::from_numbers(const TensorType& type, std::span<const double> numbers) {
  HostTensor tensor(type);
  tensor.require_count(numbers.size());
  with_stored_type(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::span<T> elements = tensor.as<T>();
    for (std::size_t i = 0; i < numbers.size(); ++i) elements[i] = narrow<T>(numbers[i]);
  });
  return tensor;
}

std::vector<double> HostTensor::numbers() const {
  std::vector<double> result(size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = number(i);
  return result;
}

double HostTensor::number(std::size_t i) const {
  return with_stored_type(type_.dtype, [&](auto zero) { return widen(as<decltype(zero)>()[i]); });
}

std::size_t HostTensor::first_nonfinite() const {
  if (!is_floating(type_.dtype)) return size();
  for (std::size_t i = 0; i < size(); ++i) {
    if (!std::isfinite(number(i))) return i;
  }
  return size();
}

void HostTensor::require_count(std::size_t count) const {
  if (count != size()) {
    throw UserError(fmt::format("a tensor of type {} holds {} elements, given {}", type_.str(), size(), count));
  }
}

void HostTensor::require_dtype(DType wanted) const {
  REPRISE_CHECK(wanted == type_.dtype, fmt::format("a {} tensor was read as {}", dtype_name(type_.dtype), dtype_name(wanted)));
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Numbers of the tensors of a reference file.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "io/safetensors.h"

namespace reprise::test {

template <class T>
std::vector<T> elements(const SafetensorsTensor& tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  copy_bytes(std::as_writable_bytes(std::span<T>(values)), tensor.bytes);
  return values;
}

/// The tensor `name`, which is float32 or float64.
inline std::vector<double> numbers(const SafetensorsFile& file, const std::string& name) {
  const SafetensorsTensor* tensor = file.find(name);
  if (tensor == nullptr) throw std::runtime_error("the file lacks " + name);
  if (tensor->dtype == DType::float64) return elements<double>(*tensor);
  const std::vector<float> narrow = elements<float>(*tensor);
  return {narrow.begin(), narrow.end()};
}

/// The largest magnitude.
inline double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

}  // namespace reprise::test

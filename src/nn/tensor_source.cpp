// SPDX-License-Identifier: Apache-2.0
#include "nn/tensor_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace reprise {

std::int64_t SourceTensor::rows() const {
  if (shape.empty()) return 1;
  const auto last = shape.size() < 2 ? shape.end() : shape.end() - 1;
  return std::accumulate(shape.begin(), last, std::int64_t{1}, [](std::int64_t a, std::int64_t b) { return a * b; });
}

std::optional<std::size_t> TensorSource::find(std::string_view name) const {
  const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                   [&](std::size_t place, std::string_view wanted) { return tensors_[place].name < wanted; });
  if (at == by_name_.end() || tensors_[*at].name != name) return std::nullopt;
  return *at;
}

void TensorSource::set_tensors(std::vector<SourceTensor> tensors) {
  tensors_ = std::move(tensors);
  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::sort(by_name_.begin(), by_name_.end(), [&](std::size_t a, std::size_t b) { return tensors_[a].name < tensors_[b].name; });
}

std::string shape_text(std::span<const std::int64_t> shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace reprise

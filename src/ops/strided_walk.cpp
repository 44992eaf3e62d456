// SPDX-License-Identifier: Apache-2.0
#include "ops/strided_walk.h"

#include <cstring>

namespace reprise {
namespace {

template <class Copy>
void with_element_size(std::size_t size, Copy&& copy) {
  switch (size) {  // a constant size lets memcpy become one move
    case 1: return copy(std::integral_constant<std::size_t, 1>());
    case 2: return copy(std::integral_constant<std::size_t, 2>());
    case 4: return copy(std::integral_constant<std::size_t, 4>());
    default: return copy(std::integral_constant<std::size_t, 8>());
  }
}

}  // namespace

std::vector<std::int64_t> broadcast_strides(const Shape& shape, const Shape& target) {
  const std::vector<std::int64_t> dense = shape.dense_strides();
  const std::size_t lead = target.rank() - shape.rank();
  std::vector<std::int64_t> strides(target.rank(), 0);
  for (std::size_t d = 0; d < shape.rank(); ++d) strides[lead + d] = shape[d] == 1 ? 0 : dense[d];
  return strides;
}

std::vector<std::int64_t> offsets_of(const Shape& shape, const Layout& layout) {
  std::vector<std::int64_t> offsets;
  offsets.reserve(static_cast<std::size_t>(shape.numel()));
  walk_offsets(shape, layout, [&](std::int64_t offset) { offsets.push_back(offset); });
  return offsets;
}

std::vector<std::int64_t> broadcast_offsets(const Shape& shape, const Shape& target) {
  return offsets_of(target, {0, broadcast_strides(shape, target)});
}

void copy_elements(void* to, const void* from, std::span<const std::int64_t> offsets, std::size_t size) {
  auto* const target = static_cast<std::byte*>(to);
  const auto* const source = static_cast<const std::byte*>(from);
  with_element_size(size, [&](auto bytes) {
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      std::memcpy(target + i * bytes(), source + static_cast<std::size_t>(offsets[i]) * bytes(), bytes());
    }
  });
}

void copy_elements_into(void* to, std::span<const std::int64_t> offsets, const void* from, std::size_t size) {
  auto* const target = static_cast<std::byte*>(to);
  const auto* const source = static_cast<const std::byte*>(from);
  with_element_size(size, [&](auto bytes) {
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      std::memcpy(target + static_cast<std::size_t>(offsets[i]) * bytes(), source + i * bytes(), bytes());
    }
  });
}

}  // namespace reprise

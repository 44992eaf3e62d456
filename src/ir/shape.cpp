// SPDX-License-Identifier: Apache-2.0
#include "ir/shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace reprise {

Shape::Shape(std::initializer_list<std::int64_t> extents)
    : Shape(std::span<const std::int64_t>(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const std::int64_t> extents) {
  for (const std::int64_t extent : extents) append(extent);
}

void Shape::append(Dim dim) {
  if (rank_ == kMaxRank) throw UserError(fmt::format("a shape has at most {} dimensions; reshape the tensor to fewer", kMaxRank));
  ++rank_;
  set_dim(rank_ - 1, dim);
}

void Shape::set_dim(std::size_t i, Dim dim) {
  if (dim.extent < 0) throw UserError(fmt::format("an extent cannot be negative: {}", dim.extent));
  extents_[i] = dim.extent;
  symbols_[i] = dim.symbol;
  check_size();
}

void Shape::check_size() const {
  std::int64_t n = 1;
  for (std::size_t i = 0; i < rank_; ++i) {
    // Extents of zero do not make the strides of the others small.
    if (__builtin_mul_overflow(n, std::max<std::int64_t>(extents_[i], 1), &n) || n >= kMaxElements) {
      throw SizeError(fmt::format("the tensor is too large for any memory; give smaller sizes: {}", str()));
    }
  }
}

std::int64_t Shape::numel() const {
  std::int64_t n = 1;
  for (std::size_t i = 0; i < rank_; ++i) n *= extents_[i];
  return n;
}

std::vector<std::int64_t> Shape::extents() const {
  std::vector<std::int64_t> result(rank_);
  for (std::size_t i = 0; i < rank_; ++i) result[i] = extents_[i];
  return result;
}

std::vector<std::int64_t> Shape::dense_strides() const {
  std::vector<std::int64_t> strides(rank_, 1);
  for (std::size_t i = rank_; i-- > 1;) strides[i - 1] = strides[i] * extents_[i];
  return strides;
}

std::size_t Shape::wrap(std::int64_t dim) const {
  const auto rank = static_cast<std::int64_t>(rank_);
  const std::int64_t wrapped = dim < 0 ? dim + rank : dim;
  if (wrapped < 0 || wrapped >= rank) {
    throw UserError(fmt::format("dimension out of range for shape {} of rank {}: {}", str(), rank, dim));
  }
  return static_cast<std::size_t>(wrapped);
}

std::string Shape::str() const {
  std::string text = "[";
  for (std::size_t i = 0; i < rank_; ++i) {
    if (i != 0) text += ", ";
    if (!symbols_[i].empty()) text += fmt::format("{}<=", symbols_[i].view());
    text += fmt::format("{}", extents_[i]);
  }
  return text + "]";
}

bool operator==(const Shape& a, const Shape& b) {
  return a.rank_ == b.rank_ && std::equal(a.extents_.begin(), a.extents_.begin() + a.rank_, b.extents_.begin()) &&
         std::equal(a.symbols_.begin(), a.symbols_.begin() + a.rank_, b.symbols_.begin());
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.rank(), b.rank());
  const Dim one{1, {}};
  Shape result;
  for (std::size_t i = 0; i < rank; ++i) {
    const Dim da = i + a.rank() < rank ? one : a.dim(i + a.rank() - rank);
    const Dim db = i + b.rank() < rank ? one : b.dim(i + b.rank() - rank);
    if (da != db && da != one && db != one) {
      throw UserError(fmt::format("shapes do not broadcast, extents must be equal or 1: {} and {}", a.str(), b.str()));
    }
    result.append(da == one ? db : da);
  }
  return result;
}

std::string TensorType::str() const {
  std::string text = fmt::format("{}{}", dtype_name(dtype), shape.str());
  if (device == Device::cuda) text += "@cuda";
  return text;
}

}  // namespace reprise

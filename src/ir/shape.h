// SPDX-License-Identifier: Apache-2.0
// Shapes and tensor types. A shape has no strides: where a value lies is decided by analysis/storage.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/interned.h"

namespace reprise {

/// One extent. With a symbol the extent is an upper bound that memory is planned for, and the real extent is data.
struct Dim {
  std::int64_t extent = 0;
  Interned symbol;

  bool bounded() const { return !symbol.empty(); }
  friend bool operator==(const Dim&, const Dim&) = default;
};

/// Up to eight dimensions, outermost first. A shape of rank 0 is a scalar.
class Shape {
 public:
  static constexpr std::size_t kMaxRank = 8;
  /// With eight bytes each they would fill the address space; sizes and offsets below that cannot overflow.
  static constexpr std::int64_t kMaxElements = std::int64_t{1} << 44;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents);
  explicit Shape(std::span<const std::int64_t> extents);
  explicit Shape(const std::vector<std::int64_t>& extents) : Shape(std::span<const std::int64_t>(extents)) {}

  std::size_t rank() const { return rank_; }
  /// Extent of dimension i (the upper bound of a bounded one).
  std::int64_t operator[](std::size_t i) const { return extents_[i]; }
  Dim dim(std::size_t i) const { return {extents_[i], symbols_[i]}; }
  /// Replaces dimension i; UserErrors as append.
  void set_dim(std::size_t i, Dim dim);
  std::int64_t back() const { return extents_[rank_ - 1]; }
  /// Appends a dimension; UserError past kMaxRank, below zero, or when the shape gets kMaxElements or more.
  void append(Dim dim);
  void append(std::int64_t extent) { append(Dim{extent, {}}); }

  /// Number of elements; 1 for a scalar.
  std::int64_t numel() const;
  std::vector<std::int64_t> extents() const;
  /// Strides in elements of the dense row-major layout.
  std::vector<std::int64_t> dense_strides() const;
  /// Maps a possibly negative dimension to [0, rank); UserError when it is out of range.
  std::size_t wrap(std::int64_t dim) const;
  /// "[2, 3]", a bounded dimension as "n<=128".
  std::string str() const;

  friend bool operator==(const Shape& a, const Shape& b);

 private:
  void check_size() const;

  // Two arrays: as one of Dim, padding would make a third of every type.
  std::array<std::int64_t, kMaxRank> extents_{};
  std::array<Interned, kMaxRank> symbols_{};
  std::uint32_t rank_ = 0;
};

/// Numpy-style broadcast of two shapes; UserError naming both when they do not broadcast.
Shape broadcast_shapes(const Shape& a, const Shape& b);

enum class Device : std::uint8_t { cpu, cuda };

struct TensorType {
  DType dtype = DType::float32;
  Shape shape;
  Device device = Device::cpu;

  /// Bytes of the dense layout.
  std::int64_t bytes() const { return shape.numel() * static_cast<std::int64_t>(dtype_size(dtype)); }
  /// "float32[2, 3]"; a device other than the CPU follows as "@cuda".
  std::string str() const;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

}  // namespace reprise

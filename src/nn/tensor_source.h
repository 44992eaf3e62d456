// SPDX-License-Identifier: Apache-2.0
// Named tensors in files, whatever the format: what there is, and rows of it in the element type that the reader wants.
// Model folders of safetensors implement it (nn/safetensors_source.h); loading and exporting read through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace reprise {

/// One tensor of a source. Its rows are the extents of all dimensions but the last, row-major; a vector's rows are its
/// elements, a scalar has one.
struct SourceTensor {
  std::string name;
  std::string type_name;                // as stored: "bfloat16", or the name of a quantized type
  std::optional<DType> dtype;           // where the stored type is one of ours
  std::vector<std::int64_t> shape;

  /// Elements of a row.
  std::int64_t width() const { return shape.size() < 2 ? 1 : shape.back(); }
  std::int64_t rows() const;
};

class TensorSource {
 public:
  virtual ~TensorSource() = default;
  TensorSource() = default;
  TensorSource(const TensorSource&) = delete;
  TensorSource& operator=(const TensorSource&) = delete;

  /// All tensors, in the order of the files. Places in this list name tensors below.
  const std::vector<SourceTensor>& tensors() const { return tensors_; }
  /// The place of the tensor called `name`, or nothing.
  std::optional<std::size_t> find(std::string_view name) const;

  /// Writes rows [first, last) of a tensor into `to` as elements of `dtype` (a floating one), each rounded once.
  /// UserError for a tensor whose elements are no weights.
  virtual void read_rows(std::size_t tensor, std::int64_t first, std::int64_t last, DType dtype, std::span<std::byte> to) const = 0;
  /// Gives the memory behind a tensor that has been read back to the system.
  virtual void release(std::size_t tensor) const = 0;
  /// The file that holds a tensor, for errors.
  virtual std::string file_of(std::size_t tensor) const = 0;
  /// What holds them all, for errors about tensors that are not there: the file, or the index of several.
  virtual std::string name() const = 0;

 protected:
  /// Sets the list. Names are unique: the caller has checked.
  void set_tensors(std::vector<SourceTensor> tensors);

 private:
  std::vector<SourceTensor> tensors_;
  std::vector<std::size_t> by_name_;  // places, sorted by name
};

/// "[97, 24]"
std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace reprise

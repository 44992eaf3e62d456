// SPDX-License-Identifier: Apache-2.0
// Where a model folder's values come from when it is written: an engine's memory, or the files of another folder. Rows are read
// as they are needed, so weights are never held twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "nn/folder_weights.h"
#include "train/checkpoint.h"

namespace reprise {

class ParameterSource {
 public:
  virtual ~ParameterSource() = default;
  /// The type a parameter is kept in; float32 where that is none of ours.
  virtual DType dtype(const std::string& parameter) const = 0;
  /// Writes rows [first, last) of a parameter into `to` as elements of `dtype`.
  virtual void read_rows(const std::string& parameter, std::int64_t first, std::int64_t last, DType dtype,
                         std::span<std::byte> to) const = 0;
};

/// Parameters in memory.
class SlotSource : public ParameterSource {
 public:
  /// The slots' memory outlives this.
  explicit SlotSource(std::span<const TensorSlot> slots);
  DType dtype(const std::string& parameter) const override { return slot(parameter).dtype; }
  void read_rows(const std::string& parameter, std::int64_t first, std::int64_t last, DType dtype, std::span<std::byte> to) const override;

 private:
  const TensorSlot& slot(const std::string& parameter) const;

  std::unordered_map<std::string, TensorSlot> slots_;
};

/// Parameters as the rows of tensors in files.
class FileSource : public ParameterSource {
 public:
  /// `source` outlives this. UserError as match_weights.
  FileSource(const TensorSource& source, const WeightTable& table);
  DType dtype(const std::string& parameter) const override;
  void read_rows(const std::string& parameter, std::int64_t first, std::int64_t last, DType dtype, std::span<std::byte> to) const override;

 private:
  /// Rows of a parameter and where they are: from row `from` of the tensor at `place`.
  struct Piece {
    std::int64_t last = 0;
    std::size_t place = 0;
    std::int64_t from = 0;
  };
  const std::map<std::int64_t, Piece>& pieces(const std::string& parameter) const;

  const TensorSource& source_;
  std::unordered_map<std::string, std::map<std::int64_t, Piece>> pieces_;  // by first row
};

}  // namespace reprise

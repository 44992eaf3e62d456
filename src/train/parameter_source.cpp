// SPDX-License-Identifier: Apache-2.0
#include "train/parameter_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "nn/weight_conversion.h"

namespace reprise {

SlotSource::SlotSource(std::span<const TensorSlot> slots) {
  for (const TensorSlot& slot : slots) slots_.emplace(slot.name, slot);
}

const TensorSlot& SlotSource::slot(const std::string& parameter) const {
  const auto found = slots_.find(parameter);
  REPRISE_CHECK(found != slots_.end(), fmt::format("no slot for parameter {}", parameter));
  return found->second;
}

void SlotSource::read_rows(const std::string& parameter, std::int64_t first, std::int64_t last, DType dtype,
                           std::span<std::byte> to) const {
  const TensorSlot& from = slot(parameter);
  const auto width = static_cast<std::size_t>(SourceTensor{parameter, "", from.dtype, from.shape}.width()) * dtype_size(from.dtype);
  convert_elements(from.dtype, from.bytes.subspan(static_cast<std::size_t>(first) * width, static_cast<std::size_t>(last - first) * width),
                   dtype, to);
}

FileSource::FileSource(const TensorSource& source, const WeightTable& table) : source_(source) {
  const std::vector<std::size_t> places = match_weights(source, table);
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::int64_t from = 0;
    for (const ParameterRows& rows : table.tensors[i].rows) {
      pieces_[rows.parameter][rows.first] = {rows.last, places[i], from};
      from += rows.last - rows.first;
    }
  }
}

const std::map<std::int64_t, FileSource::Piece>& FileSource::pieces(const std::string& parameter) const {
  const auto found = pieces_.find(parameter);
  REPRISE_CHECK(found != pieces_.end(), fmt::format("no tensor for parameter {}", parameter));
  return found->second;
}

DType FileSource::dtype(const std::string& parameter) const {
  return source_.tensors()[pieces(parameter).begin()->second.place].dtype.value_or(DType::float32);
}

void FileSource::read_rows(const std::string& parameter, std::int64_t first, std::int64_t last, DType dtype,
                           std::span<std::byte> to) const {
  const auto& all = pieces(parameter);
  while (first < last) {
    const auto at = std::prev(all.upper_bound(first));
    const Piece& piece = at->second;
    REPRISE_CHECK(first < piece.last, fmt::format("row {} of {} is in no tensor", first, parameter));
    const std::int64_t end = std::min(last, piece.last);
    const std::size_t bytes = static_cast<std::size_t>((end - first) * source_.tensors()[piece.place].width()) * dtype_size(dtype);
    source_.read_rows(piece.place, piece.from + first - at->first, piece.from + end - at->first, dtype, to.first(bytes));
    to = to.subspan(bytes);
    first = end;
  }
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
#include "nn/gguf_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/error.h"
#include "nn/weight_conversion.h"

namespace reprise {
namespace {

constexpr std::int64_t kPiece = 4096;  // elements widened at a time: whole blocks of every type

std::optional<DType> dtype_of(const GgmlType& type) {
  if (type.name == "F32") return DType::float32;
  if (type.name == "F16") return DType::float16;
  if (type.name == "BF16") return DType::bfloat16;
  if (type.name == "F64") return DType::float64;
  if (type.name == "I32") return DType::int32;
  if (type.name == "I64") return DType::int64;
  return std::nullopt;
}

}  // namespace

GgufSource::GgufSource(const std::filesystem::path& path) : file_(GgufFile::open(path)) {
  std::vector<SourceTensor> tensors;
  for (const GgufTensor& tensor : file_.tensors()) {
    tensors.push_back({std::string(tensor.name), std::string(tensor.type->name), dtype_of(*tensor.type), tensor.shape});
  }
  set_tensors(std::move(tensors));
}

void GgufSource::read_rows(std::size_t tensor, std::int64_t first, std::int64_t last, DType dtype, std::span<std::byte> to) const {
  const GgufTensor& from = file_.tensors()[tensor];
  const GgmlType& type = *from.type;
  if (type.decode == nullptr) {
    throw UserError(fmt::format("{}: tensor {} has type {}, which is not read yet; convert the model to one of {}", name(), from.name,
                                type.name, decodable_ggml_types()));
  }
  const std::int64_t width = tensors()[tensor].width();
  const std::int64_t end = last * width;
  const auto element = static_cast<std::int64_t>(dtype_size(dtype));
  REPRISE_CHECK(static_cast<std::int64_t>(to.size()) == (end - first * width) * element, "room for the rows of " + std::string(from.name));
  std::array<float, kPiece> piece;
  // From the start of the block that holds the first element: rows of a vector are single elements.
  for (std::int64_t at = first * width; at < end;) {
    const std::int64_t skipped = at % type.block_elements;
    const std::int64_t begin = at - skipped;
    const std::int64_t blocks = std::min(kPiece, end - begin + type.block_elements - 1) / type.block_elements;
    const auto bytes = from.bytes.subspan(static_cast<std::size_t>(begin / type.block_elements * type.block_bytes),
                                          static_cast<std::size_t>(blocks * type.block_bytes));
    decode_ggml(type, bytes, std::span(piece).first(static_cast<std::size_t>(blocks * type.block_elements)));
    const std::int64_t count = std::min(blocks * type.block_elements - skipped, end - at);
    const auto values = std::span<const float>(piece).subspan(static_cast<std::size_t>(skipped), static_cast<std::size_t>(count));
    const auto place = to.subspan(static_cast<std::size_t>((at - first * width) * element), static_cast<std::size_t>(count * element));
    convert_elements(DType::float32, std::as_bytes(values), dtype, place);
    at += count;
  }
}

void GgufSource::release(std::size_t tensor) const { file_.release(file_.tensors()[tensor].bytes); }

}  // namespace reprise

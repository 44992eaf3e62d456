// SPDX-License-Identifier: Apache-2.0
// How ggml stores the elements of a tensor: one by one, or in blocks of small integers that share a scale. What a GGUF
// file's tensors are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace reprise {

/// One row of the table of types. Blocks lie along a tensor's last dimension.
struct GgmlType {
  std::uint32_t id = 0;  // the number in a file
  std::string_view name;
  std::int64_t block_elements = 1;
  std::int64_t block_bytes = 4;
  /// Widens whole blocks to float32; null where only the sizes are known.
  void (*decode)(const std::byte* blocks, std::int64_t count, float* values) = nullptr;
};

/// Returns the type with this number, or null.
const GgmlType* find_ggml_type(std::uint32_t id);

/// Widens `blocks` to as many float32 as they hold, by ggml's formulas (io/ggml_blocks.h). InternalError when the type cannot be
/// decoded or the sizes do not fit.
void decode_ggml(const GgmlType& type, std::span<const std::byte> blocks, std::span<float> values);

/// Returns the names of the types that can be decoded: "F32 F16 ...".
std::string_view decodable_ggml_types();

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
#include "io/ggml_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/dtype.h"
#include "base/error.h"

namespace reprise {
namespace {

constexpr std::int64_t kBlock = 32;       // elements of the block types that are decoded
constexpr std::int64_t kHalf = kBlock / 2;  // a byte holds elements j and j + 16

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

float half_at(const std::byte* at) { return to_float(load<float16>(at)); }
int low_bits(std::byte byte) { return std::to_integer<int>(byte & std::byte{15}); }
int high_bits(std::byte byte) { return std::to_integer<int>(byte >> 4); }

void decode_f32(const std::byte* blocks, std::int64_t count, float* values) {
  std::memcpy(values, blocks, static_cast<std::size_t>(count) * sizeof(float));
}

template <class Narrow>
void decode_narrow(const std::byte* blocks, std::int64_t count, float* values) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = to_float(load<Narrow>(blocks + 2 * i));
}

/// Scale d (binary16), 32 signed bytes.
void decode_q8_0(const std::byte* blocks, std::int64_t count, float* values) {
  for (std::int64_t b = 0; b < count; ++b, blocks += 34, values += kBlock) {
    const float d = half_at(blocks);
    for (std::int64_t j = 0; j < kBlock; ++j) values[j] = d * static_cast<float>(load<std::int8_t>(blocks + 2 + j));
  }
}

/// Scale d (binary16), 16 bytes of two elements each; 8 stands for zero.
void decode_q4_0(const std::byte* blocks, std::int64_t count, float* values) {
  for (std::int64_t b = 0; b < count; ++b, blocks += 18, values += kBlock) {
    const float d = half_at(blocks);
    for (std::int64_t j = 0; j < kHalf; ++j) {
      values[j] = d * static_cast<float>(low_bits(blocks[2 + j]) - 8);
      values[j + kHalf] = d * static_cast<float>(high_bits(blocks[2 + j]) - 8);
    }
  }
}

/// Scale d and least value m (binary16), 16 bytes of two elements each.
void decode_q4_1(const std::byte* blocks, std::int64_t count, float* values) {
  for (std::int64_t b = 0; b < count; ++b, blocks += 20, values += kBlock) {
    const float d = half_at(blocks);
    const float m = half_at(blocks + 2);
    for (std::int64_t j = 0; j < kHalf; ++j) {
      values[j] = d * static_cast<float>(low_bits(blocks[4 + j])) + m;
      values[j + kHalf] = d * static_cast<float>(high_bits(blocks[4 + j])) + m;
    }
  }
}

// Numbers, block sizes and byte counts as in ggml's ggml.h.
constexpr GgmlType kTypes[] = {
    {0, "F32", 1, 4, decode_f32},
    {1, "F16", 1, 2, decode_narrow<float16>},
    {2, "Q4_0", kBlock, 18, decode_q4_0},
    {3, "Q4_1", kBlock, 20, decode_q4_1},
    {6, "Q5_0", 32, 22},
    {7, "Q5_1", 32, 24},
    {8, "Q8_0", kBlock, 34, decode_q8_0},
    {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110},
    {12, "Q4_K", 256, 144},
    {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},
    {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98},
    {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18},
    {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136},
    {24, "I8", 1, 1},
    {25, "I16", 1, 2},
    {26, "I32", 1, 4},
    {27, "I64", 1, 8},
    {28, "F64", 1, 8},
    {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2, decode_narrow<bfloat16>},
    {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},
    {39, "MXFP4", 32, 17},
};

}  // namespace

const GgmlType* find_ggml_type(std::uint32_t id) {
  const auto* const found = std::find_if(std::begin(kTypes), std::end(kTypes), [id](const GgmlType& type) { return type.id == id; });
  return found == std::end(kTypes) ? nullptr : found;
}

void decode_ggml(const GgmlType& type, std::span<const std::byte> blocks, std::span<float> values) {
  REPRISE_CHECK(type.decode != nullptr, fmt::format("nothing decodes {}", type.name));
  const auto count = static_cast<std::int64_t>(blocks.size()) / type.block_bytes;
  REPRISE_CHECK(static_cast<std::int64_t>(blocks.size()) == count * type.block_bytes &&
                    static_cast<std::int64_t>(values.size()) == count * type.block_elements,
                fmt::format("{} bytes of {} do not make {} values", blocks.size(), type.name, values.size()));
  if (count > 0) type.decode(blocks.data(), count, values.data());
}

std::string_view decodable_ggml_types() { return "F32 F16 BF16 Q8_0 Q4_0 Q4_1"; }

}  // namespace reprise

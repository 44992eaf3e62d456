// SPDX-License-Identifier: Apache-2.0
#include "io/ggml_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "base/dtype.h"
#include "base/error.h"
#include "io/ggml_blocks.h"

namespace reprise {
namespace {

void decode_f32(const std::byte* blocks, std::int64_t count, float* values) {
  std::memcpy(values, blocks, static_cast<std::size_t>(count) * sizeof(float));
}

template <class Narrow>
void decode_narrow(const std::byte* blocks, std::int64_t count, float* values) {
  for (std::int64_t i = 0; i < count; ++i) {
    Narrow value;
    std::memcpy(&value, blocks + 2 * i, sizeof(value));
    values[i] = to_float(value);
  }
}

// Numbers, block sizes and byte counts as in ggml's ggml.h.
constexpr GgmlType kTypes[] = {
    {0, "F32", 1, 4, decode_f32},
    {1, "F16", 1, 2, decode_narrow<float16>},
    {2, "Q4_0", ggml::kBlock, 18, ggml::decode_q4_0},
    {3, "Q4_1", ggml::kBlock, 20, ggml::decode_q4_1},
    {6, "Q5_0", ggml::kBlock, 22, ggml::decode_q5_0},
    {7, "Q5_1", ggml::kBlock, 24, ggml::decode_q5_1},
    {8, "Q8_0", ggml::kBlock, 34, ggml::decode_q8_0},
    {10, "Q2_K", ggml::kSuperBlock, 84, ggml::decode_q2_k},
    {11, "Q3_K", ggml::kSuperBlock, 110, ggml::decode_q3_k},
    {12, "Q4_K", ggml::kSuperBlock, 144, ggml::decode_q4_k},
    {13, "Q5_K", ggml::kSuperBlock, 176, ggml::decode_q5_k},
    {14, "Q6_K", ggml::kSuperBlock, 210, ggml::decode_q6_k},
    {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98},
    {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", ggml::kBlock, 18, ggml::decode_iq4_nl},
    {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", ggml::kSuperBlock, 136, ggml::decode_iq4_xs},
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

std::string_view decodable_ggml_types() {
  static const std::string names = [] {
    std::string list;
    for (const GgmlType& type : kTypes) {
      if (type.decode != nullptr) list += fmt::format("{}{}", list.empty() ? "" : " ", type.name);
    }
    return list;
  }();
  return names;
}

}  // namespace reprise

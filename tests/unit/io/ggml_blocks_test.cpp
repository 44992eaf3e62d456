// SPDX-License-Identifier: Apache-2.0
// The block types of ggml, bit for bit as the package gguf 0.19 of the Python package index widens them.
#include "io/ggml_type.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {
namespace {

struct Figure {
  std::uint32_t type;
  std::string_view name;
  std::vector<std::size_t> halves;  // where a block holds its scale, and its least value or offset
  std::uint64_t hash;               // FNV-1a of the bytes of the values of 64 blocks

  friend void PrintTo(const Figure& figure, std::ostream* stream) { *stream << figure.name; }
};

const Figure kFigures[] = {
    {2, "Q4_0", {0}, 0x13a8d72bb4222ae8},    {3, "Q4_1", {0, 2}, 0x7c7fa69117840be1},  {6, "Q5_0", {0}, 0xe5bf92ab03e5dfa4},
    {7, "Q5_1", {0, 2}, 0xedfb9bb526b28024}, {8, "Q8_0", {0}, 0x0cbd047ede312e9b},     {10, "Q2_K", {80, 82}, 0xef946a53a6480da3},
    {11, "Q3_K", {108}, 0x1963e27966731edf}, {12, "Q4_K", {0, 2}, 0xd4d9a4fb084e9daf}, {13, "Q5_K", {0, 2}, 0xa748d2440240a13f},
    {14, "Q6_K", {208}, 0x9c4adc5e381ff39c}, {20, "IQ4_NL", {0}, 0x2204ce4732451f92},  {23, "IQ4_XS", {0}, 0x83bb1263a127cc4f},
};

constexpr std::size_t kBlocks = 64;

/// Bytes of a linear congruential generator, with halves around 1/16 and -1/64 where a block holds scales.
std::vector<std::byte> blocks_of(const GgmlType& type, const std::vector<std::size_t>& halves) {
  const auto size = static_cast<std::size_t>(type.block_bytes);
  std::vector<std::byte> bytes(kBlocks * size);
  std::uint32_t state = 12345;
  for (std::byte& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24);
  }
  for (std::size_t b = 0; b < kBlocks; ++b) {
    for (std::size_t k = 0; k < halves.size(); ++k) {
      const auto bits = static_cast<std::uint16_t>((k == 0 ? 0x2c00U : 0xb100U) + 37 * b);
      std::memcpy(&bytes[b * size + halves[k]], &bits, sizeof(bits));
    }
  }
  return bytes;
}

std::uint64_t hash_of(const std::vector<float>& values) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const float value : values) {
    std::uint8_t bytes[sizeof(float)];
    std::memcpy(bytes, &value, sizeof(value));
    for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3U;
  }
  return hash;
}

class GgmlBlocks : public testing::TestWithParam<Figure> {};

TEST_P(GgmlBlocks, HaveTheReferencesBits) {
  const Figure& figure = GetParam();
  const GgmlType* const type = find_ggml_type(figure.type);
  ASSERT_NE(type, nullptr);
  EXPECT_EQ(type->name, figure.name);
  const std::vector<std::byte> bytes = blocks_of(*type, figure.halves);
  std::vector<float> values(kBlocks * static_cast<std::size_t>(type->block_elements));
  decode_ggml(*type, bytes, values);
  EXPECT_EQ(hash_of(values), figure.hash);
}

INSTANTIATE_TEST_SUITE_P(Types, GgmlBlocks, testing::ValuesIn(kFigures), [](const auto& one) { return std::string(one.param.name); });

TEST(GgmlTypes, EveryBlockTypeThatIsDecodedHasAFigure) {
  std::string names = "F32 F16";
  for (const Figure& figure : kFigures) names.append(" ").append(figure.name);
  names.append(" BF16");
  EXPECT_EQ(decodable_ggml_types(), names);
}

}  // namespace
}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Layouts and formulas as in ggml's ggml-common.h and ggml-quants.c. d and m below are a block's scale and least value, in binary16.
#include "io/ggml_blocks.h"

#include <array>
#include <cstring>

#include "base/dtype.h"

namespace reprise::ggml {
namespace {

constexpr std::int64_t kHalf = kBlock / 2;  // a byte holds elements j and j + 16 of a plain block

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

float half_at(const std::byte* at) { return to_float(load<float16>(at)); }
int number(std::byte byte) { return std::to_integer<int>(byte); }
int low_bits(std::byte byte) { return number(byte) & 15; }
int high_bits(std::byte byte) { return number(byte) >> 4; }

/// The fifth bits of a block's elements, one after another.
int fifth_bit(const std::byte* bits, std::int64_t j) { return (number(bits[j / 8]) >> (j % 8) & 1) << 4; }

/// Scale and least value of one of the eight parts of 32 elements of a super block: six bits each, in twelve bytes.
struct ScaleAndLeast {
  float scale, least;
};

ScaleAndLeast part_of(const std::byte* scales, std::int64_t part, float d, float m) {
  int scale = number(scales[part]) & 63;
  int least = 0;
  if (part < 4) {
    least = number(scales[part + 4]) & 63;
  } else {
    scale = low_bits(scales[part + 4]) | (number(scales[part - 4]) >> 6) << 4;
    least = high_bits(scales[part + 4]) | (number(scales[part]) >> 6) << 4;
  }
  return {d * static_cast<float>(scale), m * static_cast<float>(least)};
}

/// The eight parts of 32 elements of a block that begins with d, m and the scales: d scale q - m least. q: four bits from `low`, and one
/// from `fifth` where there is a fifth.
void decode_parts(const std::byte* block, const std::byte* low, const std::byte* fifth, float* values) {
  const float d = half_at(block);
  const float m = half_at(block + 2);
  for (std::int64_t part = 0; part < 8; ++part, values += kBlock) {
    const auto [scale, least] = part_of(block + 4, part, d, m);
    const std::byte* const bits = low + part / 2 * 32;
    for (std::int64_t j = 0; j < kBlock; ++j) {
      const int four = part % 2 == 0 ? low_bits(bits[j]) : high_bits(bits[j]);
      const int upper = fifth == nullptr ? 0 : (number(fifth[j]) >> part & 1) << 4;
      values[j] = scale * static_cast<float>(four + upper) - least;
    }
  }
}

/// What the sixteen codes of the non-linear types stand for.
constexpr std::array<float, 16> kNonLinear = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

}  // namespace

/// 32 signed bytes: d q.
void decode_q8_0(const std::byte* blocks, std::int64_t count, float* values) {
  for (std::int64_t b = 0; b < count; ++b, blocks += 34, values += kBlock) {
    const float d = half_at(blocks);
    for (std::int64_t j = 0; j < kBlock; ++j) values[j] = d * static_cast<float>(load<std::int8_t>(blocks + 2 + j));
  }
}

/// Four bits an element: d (q - 8).
void decode_q4_0(const std::byte* blocks, std::int64_t count, float* values) {
  for (std::int64_t b = 0; b < count; ++b, blocks += 18, values += kBlock) {
    const float d = half_at(blocks);
    for (std::int64_t j = 0; j < kHalf; ++j) {
      values[j] = d * static_cast<float>(low_bits(blocks[2 + j]) - 8);
      values[j + kHalf] = d * static_cast<float>(high_bits(blocks[2 + j]) - 8);
    }
  }
}

/// Four bits an element: d q + m.
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

/// Five bits an element, the fifth ones apart: d (q - 16).
void decode_q5_0(const std::byte* blocks, std::int64_t count, float* values) {
  for (std::int64_t b = 0; b < count; ++b, blocks += 22, values += kBlock) {
    const float d = half_at(blocks);
    for (std::int64_t j = 0; j < kHalf; ++j) {
      values[j] = d * static_cast<float>((low_bits(blocks[6 + j]) | fifth_bit(blocks + 2, j)) - 16);
      values[j + kHalf] = d * static_cast<float>((high_bits(blocks[6 + j]) | fifth_bit(blocks + 2, j + kHalf)) - 16);
    }
  }
}

/// Five bits an element, the fifth ones apart: d q + m.
void decode_q5_1(const std::byte* blocks, std::int64_t count, float* values) {
  for (std::int64_t b = 0; b < count; ++b, blocks += 24, values += kBlock) {
    const float d = half_at(blocks);
    const float m = half_at(blocks + 2);
    for (std::int64_t j = 0; j < kHalf; ++j) {
      values[j] = d * static_cast<float>(low_bits(blocks[8 + j]) | fifth_bit(blocks + 4, j)) + m;
      values[j + kHalf] = d * static_cast<float>(high_bits(blocks[8 + j]) | fifth_bit(blocks + 4, j + kHalf)) + m;
    }
  }
}

/// 16 scales and least values of four bits, two bits an element: d scale q - m least, for 16 elements at a time.
void decode_q2_k(const std::byte* blocks, std::int64_t count, float* values) {
  for (std::int64_t b = 0; b < count; ++b, blocks += 84) {
    const float d = half_at(blocks + 80);
    const float m = half_at(blocks + 82);
    for (std::int64_t part = 0; part < 16; ++part, values += 16) {
      const std::byte* const bits = blocks + 16 + part / 8 * 32 + part % 2 * 16;
      const auto shift = part % 8 / 2 * 2;
      const float scale = d * static_cast<float>(low_bits(blocks[part]));
      const float least = m * static_cast<float>(high_bits(blocks[part]));
      for (std::int64_t j = 0; j < 16; ++j) values[j] = scale * static_cast<float>(number(bits[j]) >> shift & 3) - least;
    }
  }
}

/// 16 scales of six bits, three bits an element, the third ones apart: d (scale - 32) (q - 4), for 16 elements at a time.
void decode_q3_k(const std::byte* blocks, std::int64_t count, float* values) {
  for (std::int64_t b = 0; b < count; ++b, blocks += 110) {
    const std::byte* const scales = blocks + 96;
    const float d = half_at(blocks + 108);
    for (std::int64_t part = 0; part < 16; ++part, values += 16) {
      const std::int64_t place = part % 2 * 16;
      const std::byte* const bits = blocks + 32 + part / 8 * 32 + place;
      const auto shift = part % 8 / 2 * 2;
      const auto third = part / 2;
      const int low = part < 8 ? low_bits(scales[part]) : high_bits(scales[part - 8]);
      const int high = number(scales[8 + part % 4]) >> (part / 4 * 2) & 3;
      const float scale = d * static_cast<float>((low | high << 4) - 32);
      for (std::int64_t j = 0; j < 16; ++j) {
        const int four = (number(blocks[place + j]) >> third & 1) != 0 ? 0 : 4;
        values[j] = scale * static_cast<float>((number(bits[j]) >> shift & 3) - four);
      }
    }
  }
}

void decode_q4_k(const std::byte* blocks, std::int64_t count, float* values) {
  for (std::int64_t b = 0; b < count; ++b, blocks += 144, values += kSuperBlock) decode_parts(blocks, blocks + 16, nullptr, values);
}

/// As Q4_K, with fifth bits apart.
void decode_q5_k(const std::byte* blocks, std::int64_t count, float* values) {
  for (std::int64_t b = 0; b < count; ++b, blocks += 176, values += kSuperBlock) decode_parts(blocks, blocks + 48, blocks + 16, values);
}

/// 16 signed scales, six bits an element, the upper two apart: d scale (q - 32), for 16 elements at a time.
void decode_q6_k(const std::byte* blocks, std::int64_t count, float* values) {
  for (std::int64_t b = 0; b < count; ++b, blocks += 210) {
    const float d = half_at(blocks + 208);
    for (std::int64_t part = 0; part < 16; ++part, values += 16) {
      const std::int64_t half = part / 8;        // 128 elements each
      const std::int64_t quarter = part % 8 / 2;  // of a half: 32 elements each
      const std::int64_t place = part % 2 * 16;
      const std::byte* const low = blocks + half * 64 + quarter % 2 * 32 + place;
      const std::byte* const high = blocks + 128 + half * 32 + place;
      const float scale = d * static_cast<float>(load<std::int8_t>(blocks + 192 + part));
      for (std::int64_t j = 0; j < 16; ++j) {
        const int bits = quarter < 2 ? low_bits(low[j]) : high_bits(low[j]);
        values[j] = scale * static_cast<float>((bits | (number(high[j]) >> (2 * quarter) & 3) << 4) - 32);
      }
    }
  }
}

/// Codes of four bits: d times what the code stands for.
void decode_iq4_nl(const std::byte* blocks, std::int64_t count, float* values) {
  for (std::int64_t b = 0; b < count; ++b, blocks += 18, values += kBlock) {
    const float d = half_at(blocks);
    for (std::int64_t j = 0; j < kHalf; ++j) {
      values[j] = d * kNonLinear[static_cast<std::size_t>(low_bits(blocks[2 + j]))];
      values[j + kHalf] = d * kNonLinear[static_cast<std::size_t>(high_bits(blocks[2 + j]))];
    }
  }
}

/// As IQ4_NL, with a scale of six bits for every 32 elements: d (scale - 32).
void decode_iq4_xs(const std::byte* blocks, std::int64_t count, float* values) {
  for (std::int64_t b = 0; b < count; ++b, blocks += 136) {
    const float d = half_at(blocks);
    const int upper = load<std::uint16_t>(blocks + 2);
    for (std::int64_t part = 0; part < 8; ++part, values += kBlock) {
      const int low = number(blocks[4 + part / 2]) >> (part % 2 * 4) & 15;
      const float scale = d * static_cast<float>((low | (upper >> (2 * part) & 3) << 4) - 32);
      const std::byte* const codes = blocks + 8 + part * 16;
      for (std::int64_t j = 0; j < kHalf; ++j) {
        values[j] = scale * kNonLinear[static_cast<std::size_t>(low_bits(codes[j]))];
        values[j + kHalf] = scale * kNonLinear[static_cast<std::size_t>(high_bits(codes[j]))];
      }
    }
  }
}

}  // namespace reprise::ggml

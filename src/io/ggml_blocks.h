// SPDX-License-Identifier: Apache-2.0
// The block formats of ggml: small integers that share scales. Each function widens `count` whole blocks to float32 by ggml's own
// formula, in its order of operations, so that the bits are those that other readers get.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reprise::ggml {

inline constexpr std::int64_t kBlock = 32;        // elements of a plain block
inline constexpr std::int64_t kSuperBlock = 256;  // elements of a block of the K types, whose scales are quantized too

void decode_q4_0(const std::byte* blocks, std::int64_t count, float* values);
void decode_q4_1(const std::byte* blocks, std::int64_t count, float* values);
void decode_q5_0(const std::byte* blocks, std::int64_t count, float* values);
void decode_q5_1(const std::byte* blocks, std::int64_t count, float* values);
void decode_q8_0(const std::byte* blocks, std::int64_t count, float* values);
void decode_q2_k(const std::byte* blocks, std::int64_t count, float* values);
void decode_q3_k(const std::byte* blocks, std::int64_t count, float* values);
void decode_q4_k(const std::byte* blocks, std::int64_t count, float* values);
void decode_q5_k(const std::byte* blocks, std::int64_t count, float* values);
void decode_q6_k(const std::byte* blocks, std::int64_t count, float* values);
void decode_iq4_nl(const std::byte* blocks, std::int64_t count, float* values);
void decode_iq4_xs(const std::byte* blocks, std::int64_t count, float* values);

}  // namespace reprise::ggml

// SPDX-License-Identifier: Apache-2.0
// Tokens in memory, two or four bytes each, owned by someone else: a mapped shard or a vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace reprise {

class TokenView {
 public:
  TokenView() = default;
  TokenView(std::span<const std::uint16_t> tokens)  // NOLINT: a vector of tokens is a view
      : data_(reinterpret_cast<const std::byte*>(tokens.data())), size_(static_cast<std::int64_t>(tokens.size())), width_(2) {}
  TokenView(std::span<const std::uint32_t> tokens)  // NOLINT
      : data_(reinterpret_cast<const std::byte*>(tokens.data())), size_(static_cast<std::int64_t>(tokens.size())), width_(4) {}

  std::int64_t size() const { return size_; }
  /// Bytes of one token: 2 or 4.
  std::int64_t width() const { return width_; }
  std::int64_t operator[](std::int64_t index) const {
    if (width_ == 2) {
      std::uint16_t token;
      std::memcpy(&token, data_ + 2 * index, sizeof(token));
      return token;
    }
    std::uint32_t token;
    std::memcpy(&token, data_ + 4 * index, sizeof(token));
    return token;
  }

 private:
  const std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
  std::int64_t width_ = 2;
};

}  // namespace reprise

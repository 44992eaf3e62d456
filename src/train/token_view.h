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

  /// The same tokens, of which only those with a bit set are to be learned: bit i % 8 of byte i / 8.
  TokenView with_targets(std::span<const std::byte> bits) const {
    TokenView view = *this;
    view.targets_ = bits.data();
    return view;
  }

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
  /// Whether some tokens may be only read, not learned.
  bool has_targets() const { return targets_ != nullptr; }
  /// Whether the token is to be learned; all are without bits.
  bool is_target(std::int64_t index) const {
    return targets_ == nullptr || (targets_[index / 8] >> static_cast<int>(index % 8) & std::byte{1}) != std::byte{0};
  }

 private:
  const std::byte* data_ = nullptr;
  const std::byte* targets_ = nullptr;
  std::int64_t size_ = 0;
  std::int64_t width_ = 2;
};

}  // namespace reprise

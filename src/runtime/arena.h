// SPDX-License-Identifier: Apache-2.0
// The arena: the one block of memory that an engine's programs run in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace reprise {

/// Throws UserError when `needed` bytes are more than `available`; touches nothing. `what` is what needs them;
/// `suggestion` (may be empty) is a command that fits.
void require_memory(std::int64_t needed, std::uint64_t available, const std::string& what, const std::string& suggestion);

/// An anonymous mapping of zeros. Pages take memory when they are first written; the page behind the last cannot be touched.
class Arena {
 public:
  /// Maps `bytes` (>= 0); DeviceError when the system refuses.
  explicit Arena(std::int64_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

  /// Writes `pattern` to every byte from `from` on, up to the end of the last page.
  void fill(std::byte pattern, std::int64_t from = 0);
  /// Returns one past the last byte, up to the end of the last page, that differs from `pattern`; 0 when none does.
  std::int64_t high_water(std::byte pattern) const;

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  std::int64_t mapped_ = 0;  // whole pages, without the guard page
};

}  // namespace reprise

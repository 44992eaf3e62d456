// SPDX-License-Identifier: Apache-2.0
// A file mapped into memory for reading: weights and token shards are read in place, page by page.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace reprise {

/// How a mapped file will be read; the kernel adapts its read-ahead.
enum class Access { normal, sequential, random };

/// A read-only mapping of a whole regular file. The bytes stay valid (and in place) while the object or what it was
/// moved to lives. The file must not be cut short meanwhile.
class MappedFile {
 public:
  MappedFile() = default;
  /// Maps `path`; an empty file gives no bytes. UserError when it is missing, a directory, not a regular file, or
  /// not readable.
  static MappedFile open(const std::filesystem::path& path, Access access = Access::normal);
  /// Maps the open file `fd`, which may be closed afterwards; `path` is what errors call it.
  static MappedFile map(int fd, const std::filesystem::path& path, Access access = Access::normal);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

  /// Gives the memory of the whole pages inside `range` back to the system; they are read again when touched.
  /// So a reader that copies weights out never holds them twice. `range` must lie in `bytes()`.
  void release(std::span<const std::byte> range) const;

 private:
  void unmap() noexcept;

  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace reprise

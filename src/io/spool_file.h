// SPDX-License-Identifier: Apache-2.0
// Bytes that are needed more than once but came through a pipe or a decompressor: they go through a file without a name, so
// that they take disk and not memory, and are gone with the last mapping of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "io/file_descriptor.h"
#include "io/file_write.h"
#include "io/mapped_file.h"

namespace reprise {

class SpoolFile {
 public:
  /// Creates it in `folder`, which is made if missing; empty: in the folder for temporary files. UserError when that is refused.
  explicit SpoolFile(const std::filesystem::path& folder);

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  std::uint64_t size() const { return buffer_.size(); }
  /// Maps what was written. Nothing may be written afterwards.
  MappedFile map();

 private:
  std::filesystem::path path_;  // for errors: it is removed as soon as it is open
  FileDescriptor fd_;
  WriteBuffer buffer_;
};

}  // namespace reprise

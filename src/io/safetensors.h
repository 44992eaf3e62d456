// SPDX-License-Identifier: Apache-2.0
// Weights on disk: 8 bytes of header length, a JSON header (name -> dtype, shape, byte range), then the data.
// The reader maps the file and checks every figure of the header before anything uses it; the writer streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "io/file_write.h"
#include "io/mapped_file.h"

namespace reprise {

using SafetensorsMetadata = std::vector<std::pair<std::string, std::string>>;

/// One tensor of a file. `bytes` point into the mapping: row-major, little endian, of any alignment (copy, don't cast).
struct SafetensorsTensor {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

class SafetensorsFile {
 public:
  /// Opens and validates. F32 F64 F16 BF16 I32 I64 BOOL are read, and U8 as bool. UserError naming file, tensor and
  /// values for anything that is not a whole, consistent file: header length, JSON, dtype, shape, ranges that leave
  /// the file, overlap, leave holes or do not match shape x dtype, names that stand twice, bytes after the last tensor.
  static SafetensorsFile open(const std::filesystem::path& path);

  /// All tensors, by their place in the data.
  const std::vector<SafetensorsTensor>& tensors() const { return tensors_; }
  /// The `__metadata__` strings.
  const SafetensorsMetadata& metadata() const { return metadata_; }
  /// Returns the tensor called `name`, or null.
  const SafetensorsTensor* find(std::string_view name) const;
  const std::filesystem::path& path() const { return file_.path(); }
  /// Gives the memory behind a tensor that has been copied out back to the system.
  void release(const SafetensorsTensor& tensor) const { file_.release(tensor.bytes); }

 private:
  MappedFile file_;
  std::vector<SafetensorsTensor> tensors_;
  std::vector<std::size_t> by_name_;  // indices into tensors_, sorted by name
  SafetensorsMetadata metadata_;
};

/// Validates `file` (a whole file's bytes) as SafetensorsFile::open does, naming it `name` in errors.
std::vector<SafetensorsTensor> parse_safetensors(std::span<const std::byte> file, std::string_view name,
                                                 SafetensorsMetadata& metadata);

/// What a writer is told of a tensor before its bytes come.
struct SafetensorsPlan {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;
};

/// Writes a file tensor by tensor, in the order of the plan, and never holds more than a small buffer. The header
/// depends on plan and metadata alone: same content, same bytes. The file appears at `finish`, whole.
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::filesystem::path& path, std::vector<SafetensorsPlan> plan,
                    const SafetensorsMetadata& metadata = {});

  /// Appends bytes of the current tensor; what a tensor lacks must come before the next one's bytes. A span may not
  /// reach over the end of a tensor.
  void write(std::span<const std::byte> bytes);
  /// Appends the whole next tensor, which must be the one called `name`.
  void write_tensor(std::string_view name, std::span<const std::byte> bytes);
  /// Makes the file durable and puts it in place. InternalError when bytes are missing.
  void finish();

 private:
  void skip_complete();

  AtomicFile file_;
  std::vector<SafetensorsPlan> plan_;
  std::size_t current_ = 0;         // tensor being written
  std::uint64_t left_ = 0;          // its bytes still to come
};

}  // namespace reprise

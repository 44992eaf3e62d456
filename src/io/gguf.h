// SPDX-License-Identifier: Apache-2.0
// GGUF, the model file of ggml: a header, metadata (key, type, value), tensor infos (name, extents, type, offset), and the
// data, each tensor's at a multiple of the alignment; little endian. The reader maps the file and checks every figure before
// anything uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/ggml_type.h"
#include "io/json.h"
#include "io/mapped_file.h"

namespace reprise {

/// Types of metadata values, by their number in the file.
enum class GgufType : std::uint32_t { uint8, int8, uint16, int16, uint32, int32, float32, boolean, string, array, uint64, int64, float64 };

/// One metadata value, in place. `bytes`: a number or bool as it lies in the file; a string's characters; an array's items one
/// after the other, strings and arrays among them with their lengths.
struct GgufValue {
  std::string_view key;
  GgufType type = GgufType::uint32;
  GgufType item_type = GgufType::uint32;  // of an array
  std::uint64_t count = 0;                // items of an array
  std::span<const std::byte> bytes;
};

/// One tensor. `shape` is row-major as ours (a file lists the fastest extent first); `bytes` point into the file.
struct GgufTensor {
  std::string_view name;
  std::vector<std::int64_t> shape;
  const GgmlType* type = nullptr;
  std::span<const std::byte> bytes;
};

/// What `parse_gguf` finds. All views are into the file's bytes.
struct GgufContent {
  std::uint32_t version = 0;
  std::vector<GgufValue> metadata;  // in the file's order
  std::vector<GgufTensor> tensors;  // in the file's order
};

/// Reads and validates `file` (a whole file's bytes), naming it `name` in errors. Versions 2 and 3. UserError saying what and at
/// which byte for another magic or version, a big-endian file, a length, count or extent that leaves the file or 64 bits, an
/// unknown type, a key or tensor name that stands twice, an offset off the alignment, tensors that overlap or are cut short.
GgufContent parse_gguf(std::span<const std::byte> file, std::string_view name);

class GgufFile {
 public:
  /// Maps and validates as parse_gguf.
  static GgufFile open(const std::filesystem::path& path);

  std::uint32_t version() const { return content_.version; }
  const std::vector<GgufValue>& metadata() const { return content_.metadata; }
  const std::vector<GgufTensor>& tensors() const { return content_.tensors; }
  /// Returns the value of `key`, or the tensor called `name`, or null.
  const GgufValue* find(std::string_view key) const;
  const GgufTensor* find_tensor(std::string_view name) const;
  const std::filesystem::path& path() const { return file_.path(); }
  /// Gives the memory behind bytes that have been copied out back to the system. `range` must lie in a tensor's bytes.
  void release(std::span<const std::byte> range) const { file_.release(range); }

 private:
  MappedFile file_;
  GgufContent content_;
  std::vector<std::size_t> keys_by_name_;  // indices, sorted by name
  std::vector<std::size_t> tensors_by_name_;
};

/// Whether a path names a GGUF file: by its ending.
bool is_gguf(const std::filesystem::path& path);

/// Returns the value as JSON: integers above 2^63 - 1 become numbers.
Json to_json(const GgufValue& value);

/// Returns an object of the metadata whose keys start with `prefix`, under their whole keys.
Json metadata_json(const GgufFile& file, std::string_view prefix);

}  // namespace reprise

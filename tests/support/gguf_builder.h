// SPDX-License-Identifier: Apache-2.0
// Assembles GGUF files byte by byte, independently of the reader. Every field can be made wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace reprise::test {

/// The bytes of a number, little endian (as the machines that run this are).
template <class T>
std::string raw(T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

inline std::string raw_string(std::string_view text) { return raw(std::uint64_t{text.size()}) + std::string(text); }

class GgufBuilder {
 public:
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;  // of the data; a file says so by general.alignment

  /// Adds a metadata value of type `type` (the format's number) with these bytes.
  GgufBuilder& value(std::string_view key, std::uint32_t type, const std::string& bytes) {
    values_.push_back(raw_string(key) + raw(type) + bytes);
    return *this;
  }
  GgufBuilder& value(std::string_view key, std::uint32_t number) { return value(key, 4, raw(number)); }
  GgufBuilder& value(std::string_view key, float number) { return value(key, 6, raw(number)); }
  GgufBuilder& value(std::string_view key, bool flag) { return value(key, 7, std::string(1, flag ? '\1' : '\0')); }
  GgufBuilder& value(std::string_view key, const char* text) { return value(key, 8, raw_string(text)); }
  GgufBuilder& value(std::string_view key, const std::vector<std::string>& texts) {
    std::string items;
    for (const std::string& text : texts) items += raw_string(text);
    return value(key, 9, raw(std::uint32_t{8}) + raw(std::uint64_t{texts.size()}) + items);
  }
  GgufBuilder& value(std::string_view key, const std::vector<std::int32_t>& numbers) {
    std::string items;
    for (const std::int32_t number : numbers) items += raw(number);
    return value(key, 9, raw(std::uint32_t{5}) + raw(std::uint64_t{numbers.size()}) + items);
  }

  /// Adds a tensor with its extents in the file's order (fastest first) behind the last one's data.
  GgufBuilder& tensor(std::string_view name, const std::vector<std::uint64_t>& extents, std::uint32_t type, const std::string& bytes) {
    tensor_at(name, extents, type, data_.size());
    data_ += bytes;
    data_.append((alignment - data_.size() % alignment) % alignment, '\0');
    return *this;
  }
  /// Adds a tensor's entry without data.
  GgufBuilder& tensor_at(std::string_view name, const std::vector<std::uint64_t>& extents, std::uint32_t type, std::uint64_t offset) {
    std::string entry = raw_string(name) + raw(static_cast<std::uint32_t>(extents.size()));
    for (const std::uint64_t extent : extents) entry += raw(extent);
    tensors_.push_back(entry + raw(type) + raw(offset));
    return *this;
  }

  std::string build() const {
    std::string file = magic + raw(version) + raw(std::uint64_t{tensors_.size()}) + raw(std::uint64_t{values_.size()});
    for (const std::string& entry : values_) file += entry;
    for (const std::string& entry : tensors_) file += entry;
    file.append((alignment - file.size() % alignment) % alignment, '\0');
    return file + data_;
  }

 private:
  std::vector<std::string> values_;
  std::vector<std::string> tensors_;
  std::string data_;
};

}  // namespace reprise::test

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "io/gguf.h"

namespace reprise {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr std::uint32_t kOldestVersion = 2;
constexpr std::uint32_t kNewestVersion = 3;
constexpr std::uint32_t kMostDimensions = 4;
constexpr std::uint64_t kDefaultAlignment = 32;
constexpr int kDeepestArray = 4;
constexpr std::string_view kAlignmentKey = "general.alignment";
constexpr std::string_view kRemedy = "the file is damaged or not GGUF; fetch or write it again";

/// Bytes of a value of fixed size, or 0 for a string or array.
std::uint64_t fixed_size(GgufType type) {
  switch (type) {
    case GgufType::uint8:
    case GgufType::int8:
    case GgufType::boolean: return 1;
    case GgufType::uint16:
    case GgufType::int16: return 2;
    case GgufType::uint32:
    case GgufType::int32:
    case GgufType::float32: return 4;
    case GgufType::uint64:
    case GgufType::int64:
    case GgufType::float64: return 8;
    case GgufType::string:
    case GgufType::array: return 0;
  }
  return 0;
}

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

/// Reads one file from front to back; every check throws through `fail`.
class Reader {
 public:
  Reader(std::span<const std::byte> file, std::string_view name) : file_(file), name_(name) {}

  GgufContent read() {
    GgufContent content;
    content.version = read_version();
    const auto tensors = take<std::uint64_t>("the number of tensors");
    const auto values = take<std::uint64_t>("the number of metadata values");
    // No reservation by these counts: each entry takes bytes, so a false one ends at the end of the file.
    for (std::uint64_t i = 0; i < values; ++i) content.metadata.push_back(read_value(i));
    check_distinct(content.metadata, "metadata key", [](const GgufValue& value) { return value.key; });
    std::vector<std::uint64_t> offsets;
    for (std::uint64_t i = 0; i < tensors; ++i) content.tensors.push_back(read_tensor(i, offsets));
    check_distinct(content.tensors, "tensor", [](const GgufTensor& tensor) { return tensor.name; });
    place_tensors(content, offsets);
    return content;
  }

 private:
  [[noreturn]] void fail(std::string_view what, std::string_view remedy = kRemedy) const {
    throw UserError(fmt::format("{}: {}; {}", name_, what, remedy));
  }

  std::uint64_t left() const { return file_.size() - position_; }

  std::span<const std::byte> take_bytes(std::uint64_t count, std::string_view what) {
    if (count > left()) {
      fail(fmt::format("{} at byte {} needs {} bytes, but the file ends {} bytes behind it", what, position_, count, left()));
    }
    const auto bytes = file_.subspan(static_cast<std::size_t>(position_), static_cast<std::size_t>(count));
    position_ += count;
    return bytes;
  }

  template <class T>
  T take(std::string_view what) {
    return load<T>(take_bytes(sizeof(T), what).data());
  }

  std::string_view take_string(std::string_view what) {
    const auto length = take<std::uint64_t>(fmt::format("the length of {}", what));
    const auto bytes = take_bytes(length, what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  GgufType take_type(std::string_view what) {
    const std::uint64_t at = position_;
    const auto type = take<std::uint32_t>(what);
    if (type > static_cast<std::uint32_t>(GgufType::float64)) fail(fmt::format("{} at byte {} is not a type: {}", what, at, type));
    return static_cast<GgufType>(type);
  }

  std::uint32_t read_version() {
    const auto magic = take_bytes(kMagic.size(), "the magic");
    if (std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0) fail("the file does not begin with \"GGUF\"");
    const auto version = take<std::uint32_t>("the version");
    if (version != 0 && (version & 0xFFFF) == 0) {
      fail("the file is big-endian", "only little-endian files are supported; convert the model again for this machine");
    }
    if (version < kOldestVersion) {
      fail(fmt::format("GGUF version {} is too old", version), "convert the model again; versions 2 and 3 are read");
    }
    if (version > kNewestVersion) {
      fail(fmt::format("GGUF version {} is newer than this reprise reads", version), "use a newer reprise; versions 2 and 3 are read");
    }
    return version;
  }

  GgufValue read_value(std::uint64_t index) {
    GgufValue value;
    value.key = take_string(fmt::format("metadata key {}", index));
    const std::string what = fmt::format("metadata value {:?}", value.key);
    value.type = take_type(fmt::format("the type of {}", what));
    take_content(value, what);
    return value;
  }

  void take_content(GgufValue& value, const std::string& what) {
    if (value.type == GgufType::string) {
      value.bytes = std::as_bytes(std::span(take_string(what)));
    } else if (value.type == GgufType::array) {
      value.item_type = take_type(fmt::format("the item type of {}", what));
      value.count = take<std::uint64_t>(fmt::format("the length of {}", what));
      value.bytes = take_items(value.item_type, value.count, what, 1);
    } else {
      value.bytes = take_bytes(fixed_size(value.type), what);
      check_booleans(value.type, value.bytes, what);
    }
  }

  std::span<const std::byte> take_items(GgufType type, std::uint64_t count, const std::string& what, int depth) {
    const std::uint64_t begin = position_;
    if (const std::uint64_t size = fixed_size(type); size > 0) {
      std::uint64_t bytes = 0;
      if (__builtin_mul_overflow(count, size, &bytes)) bytes = std::numeric_limits<std::uint64_t>::max();
      const auto items = take_bytes(bytes, what);
      check_booleans(type, items, what);
      return items;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      if (type == GgufType::string) {
        take_string(what);
        continue;
      }
      if (depth == kDeepestArray) fail(fmt::format("{} at byte {} holds arrays deeper than {}", what, position_, kDeepestArray));
      const GgufType inner = take_type(fmt::format("the item type of an array in {}", what));
      const auto length = take<std::uint64_t>(fmt::format("the length of an array in {}", what));
      take_items(inner, length, what, depth + 1);
    }
    return file_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(position_ - begin));
  }

  void check_booleans(GgufType type, std::span<const std::byte> bytes, std::string_view what) const {
    if (type != GgufType::boolean) return;
    for (const std::byte byte : bytes) {
      if (std::to_integer<int>(byte) > 1) fail(fmt::format("{} is neither false (0) nor true (1): {}", what, std::to_integer<int>(byte)));
    }
  }

  template <class Entries, class Name>
  void check_distinct(const Entries& entries, std::string_view what, const Name& name) const {
    std::vector<std::string_view> names;
    for (const auto& entry : entries) names.push_back(name(entry));
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) fail(fmt::format("{} {:?} stands twice", what, *twice));
  }

  /// Everything but the bytes, which come when all infos have been read and the data's start is known.
  GgufTensor read_tensor(std::uint64_t index, std::vector<std::uint64_t>& offsets) {
    GgufTensor tensor;
    tensor.name = take_string(fmt::format("the name of tensor {}", index));
    const std::string what = fmt::format("tensor {:?}", tensor.name);
    const auto rank = take<std::uint32_t>(fmt::format("the number of dimensions of {}", what));
    if (rank > kMostDimensions) fail(fmt::format("{} has {} dimensions, more than {}", what, rank, kMostDimensions));
    for (std::uint32_t i = 0; i < rank; ++i) {
      const auto extent = take<std::uint64_t>(fmt::format("an extent of {}", what));
      if (extent > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        fail(fmt::format("{} has an extent that 63 bits do not hold: {}", what, extent));
      }
      tensor.shape.insert(tensor.shape.begin(), static_cast<std::int64_t>(extent));
    }
    const auto type = take<std::uint32_t>(fmt::format("the type of {}", what));
    tensor.type = find_ggml_type(type);
    if (tensor.type == nullptr) {
      fail(fmt::format("{} has a type of an unknown number: {}", what, type),
           "the file is damaged or its type too new; convert the model to F16 or Q8_0");
    }
    offsets.push_back(take<std::uint64_t>(fmt::format("the offset of {}", what)));
    return tensor;
  }

  std::uint64_t alignment(const GgufContent& content) const {
    for (const GgufValue& value : content.metadata) {
      if (value.key != kAlignmentKey) continue;
      if (value.type != GgufType::uint32) fail("general.alignment is not a uint32");
      const std::uint64_t bytes = load<std::uint32_t>(value.bytes.data());
      if (bytes == 0 || bytes % 8 != 0) fail(fmt::format("general.alignment is not a multiple of 8: {}", bytes));
      return bytes;
    }
    return kDefaultAlignment;
  }

  /// Bytes of a tensor's data.
  std::uint64_t tensor_bytes(const GgufTensor& tensor) const {
    const auto shape_text = [&] { return fmt::format("[{}]", fmt::join(tensor.shape, ", ")); };
    const GgmlType& type = *tensor.type;
    const std::int64_t last = tensor.shape.empty() ? 1 : tensor.shape.back();
    if (last % type.block_elements != 0) {
      fail(
          fmt::format("tensor {:?}: rows of {} elements are not whole blocks of {} {}", tensor.name, last, type.block_elements, type.name));
    }
    // A zero extent makes the size 0 whatever the others are, so overflow is only judged without one.
    if (std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end()) return 0;
    auto bytes = static_cast<std::uint64_t>(last / type.block_elements);
    bool overflow = __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(type.block_bytes), &bytes);
    std::int64_t elements = last;
    for (std::size_t i = 0; i + 1 < tensor.shape.size(); ++i) {
      overflow = __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(tensor.shape[i]), &bytes) || overflow;
      overflow = __builtin_mul_overflow(elements, tensor.shape[i], &elements) || overflow;
    }
    if (overflow) {
      fail(fmt::format("tensor {:?}: shape {} of {} has more elements or bytes than 63 bits count", tensor.name, shape_text(), type.name));
    }
    return bytes;
  }

  void place_tensors(GgufContent& content, const std::vector<std::uint64_t>& offsets) const {
    const std::uint64_t align = alignment(content);
    const std::uint64_t start = (position_ + align - 1) / align * align;
    const auto data = file_.subspan(static_cast<std::size_t>(std::min<std::uint64_t>(start, file_.size())));
    for (std::size_t i = 0; i < content.tensors.size(); ++i) {
      GgufTensor& tensor = content.tensors[i];
      const std::uint64_t bytes = tensor_bytes(tensor);
      if (offsets[i] % align != 0) {
        fail(fmt::format("tensor {:?}: offset {} is not a multiple of the alignment {}", tensor.name, offsets[i], align));
      }
      if (bytes > 0 && (offsets[i] > data.size() || bytes > data.size() - offsets[i])) {
        fail(fmt::format("tensor {:?}: {} bytes at offset {} reach past the {} bytes of data in the file", tensor.name, bytes, offsets[i],
                         data.size()));
      }
      if (bytes > 0) tensor.bytes = data.subspan(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(bytes));
    }
    check_overlap(content.tensors);
  }

  void check_overlap(const std::vector<GgufTensor>& tensors) const {
    std::vector<const GgufTensor*> by_place;
    for (const GgufTensor& tensor : tensors) {
      if (!tensor.bytes.empty()) by_place.push_back(&tensor);
    }
    const auto begin = [&](const GgufTensor& tensor) { return tensor.bytes.data() - file_.data(); };
    std::sort(by_place.begin(), by_place.end(), [&](const GgufTensor* a, const GgufTensor* b) { return begin(*a) < begin(*b); });
    for (std::size_t i = 1; i < by_place.size(); ++i) {
      const GgufTensor& before = *by_place[i - 1];
      const GgufTensor& tensor = *by_place[i];
      if (begin(before) + static_cast<std::ptrdiff_t>(before.bytes.size()) <= begin(tensor)) continue;
      fail(fmt::format("tensors {:?} (bytes {} to {}) and {:?} (from byte {}) overlap", before.name, begin(before),
                       begin(before) + static_cast<std::ptrdiff_t>(before.bytes.size()), tensor.name, begin(tensor)));
    }
  }

  std::span<const std::byte> file_;
  std::string_view name_;
  std::uint64_t position_ = 0;
};

template <class Entries, class Name>
std::vector<std::size_t> sorted_by(const Entries& entries, const Name& name) {
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return name(entries[a]) < name(entries[b]); });
  return order;
}

template <class Entries, class Name>
auto find_in(const Entries& entries, const std::vector<std::size_t>& order, std::string_view wanted, const Name& name) {
  const auto at =
      std::lower_bound(order.begin(), order.end(), wanted, [&](std::size_t i, std::string_view w) { return name(entries[i]) < w; });
  return at != order.end() && name(entries[*at]) == wanted ? &entries[*at] : nullptr;
}

std::string_view key_of(const GgufValue& value) { return value.key; }
std::string_view name_of(const GgufTensor& tensor) { return tensor.name; }

/// Reads one value at the front of `bytes`, and takes it off.
Json take_json(GgufType type, std::span<const std::byte>& bytes) {
  const auto number = [&]<class T>(T) {
    const T value = load<T>(bytes.data());
    bytes = bytes.subspan(sizeof(T));
    return value;
  };
  switch (type) {
    case GgufType::uint8: return Json(static_cast<std::int64_t>(number(std::uint8_t{})));
    case GgufType::int8: return Json(static_cast<std::int64_t>(number(std::int8_t{})));
    case GgufType::uint16: return Json(static_cast<std::int64_t>(number(std::uint16_t{})));
    case GgufType::int16: return Json(static_cast<std::int64_t>(number(std::int16_t{})));
    case GgufType::uint32: return Json(static_cast<std::int64_t>(number(std::uint32_t{})));
    case GgufType::int32: return Json(static_cast<std::int64_t>(number(std::int32_t{})));
    case GgufType::int64: return Json(number(std::int64_t{}));
    case GgufType::uint64: {
      const std::uint64_t value = number(std::uint64_t{});
      const bool fits = value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      return fits ? Json(static_cast<std::int64_t>(value)) : Json(static_cast<double>(value));
    }
    case GgufType::float32: return Json(static_cast<double>(number(float{})));
    case GgufType::float64: return Json(number(double{}));
    case GgufType::boolean: return Json(number(std::uint8_t{}) != 0);
    case GgufType::string: {
      const auto length = static_cast<std::size_t>(number(std::uint64_t{}));
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), length);
      bytes = bytes.subspan(length);
      return Json(text);
    }
    case GgufType::array: {
      const auto item = static_cast<GgufType>(number(std::uint32_t{}));
      const auto count = number(std::uint64_t{});
      Json items = Json::array();
      for (std::uint64_t i = 0; i < count; ++i) items.push_back(take_json(item, bytes));
      return items;
    }
  }
  return {};
}

}  // namespace

GgufContent parse_gguf(std::span<const std::byte> file, std::string_view name) { return Reader(file, name).read(); }

GgufFile GgufFile::open(const std::filesystem::path& path) {
  GgufFile result;
  result.file_ = MappedFile::open(path, Access::sequential);
  result.content_ = parse_gguf(result.file_.bytes(), path.string());
  result.keys_by_name_ = sorted_by(result.content_.metadata, key_of);
  result.tensors_by_name_ = sorted_by(result.content_.tensors, name_of);
  return result;
}

const GgufValue* GgufFile::find(std::string_view key) const { return find_in(content_.metadata, keys_by_name_, key, key_of); }

const GgufTensor* GgufFile::find_tensor(std::string_view name) const { return find_in(content_.tensors, tensors_by_name_, name, name_of); }

bool is_gguf(const std::filesystem::path& path) { return path.extension() == ".gguf"; }

Json to_json(const GgufValue& value) {
  std::span<const std::byte> bytes = value.bytes;
  if (value.type == GgufType::string) return Json(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  if (value.type != GgufType::array) return take_json(value.type, bytes);
  Json items = Json::array();
  for (std::uint64_t i = 0; i < value.count; ++i) items.push_back(take_json(value.item_type, bytes));
  return items;
}

Json metadata_json(const GgufFile& file, std::string_view prefix) {
  Json object = Json::object();
  for (const GgufValue& value : file.metadata()) {
    if (value.key.starts_with(prefix)) object.set(value.key, to_json(value));
  }
  return object;
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "io/json.h"
#include "io/safetensors.h"

namespace reprise {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaximumHeaderBytes = 100'000'000;  // the format's own bound
constexpr std::string_view kMetadataKey = "__metadata__";
constexpr std::string_view kRemedy = "the file is damaged or not safetensors; fetch or write it again";

std::optional<DType> dtype_of(std::string_view name) {
  if (name == "F32") return DType::float32;
  if (name == "F64") return DType::float64;
  if (name == "F16") return DType::float16;
  if (name == "BF16") return DType::bfloat16;
  if (name == "I32") return DType::int32;
  if (name == "I64") return DType::int64;
  if (name == "BOOL" || name == "U8") return DType::boolean;
  return std::nullopt;
}

/// Parses one file's header; every check throws through `fail`.
class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> file, std::string_view name) : file_(file), name_(name) {}

  std::vector<SafetensorsTensor> read(SafetensorsMetadata& metadata) {
    const Json header = parse_header();
    for (const JsonMember& member : header.members()) {
      if (member.key == kMetadataKey) {
        metadata = read_metadata(member.value);
      } else {
        tensors_.push_back(read_tensor(member.key, member.value));
      }
    }
    std::stable_sort(tensors_.begin(), tensors_.end(), [](const Placed& a, const Placed& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    check_places();
    std::vector<SafetensorsTensor> result;
    result.reserve(tensors_.size());
    for (Placed& placed : tensors_) {
      placed.tensor.bytes = data_.subspan(placed.begin, placed.end - placed.begin);
      result.push_back(std::move(placed.tensor));
    }
    return result;
  }

 private:
  struct Placed {
    SafetensorsTensor tensor;
    std::uint64_t begin;
    std::uint64_t end;
  };

  [[noreturn]] void fail(std::string_view what, std::string_view remedy = kRemedy) const {
    throw UserError(fmt::format("{}: {}; {}", name_, what, remedy));
  }
  [[noreturn]] void fail_tensor(std::string_view tensor, std::string_view what, std::string_view remedy = kRemedy) const {
    throw UserError(fmt::format("{}: tensor \"{}\": {}; {}", name_, tensor, what, remedy));
  }

  Json parse_header() {
    if (file_.size() < kLengthBytes) {
      fail(fmt::format("the file has {} bytes, fewer than the 8 of the header length", file_.size()));
    }
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < kLengthBytes; ++i) length |= std::to_integer<std::uint64_t>(file_[i]) << (8 * i);
    const std::uint64_t available = file_.size() - kLengthBytes;
    if (length == 0) fail("the header length is 0");
    if (length > kMaximumHeaderBytes) {
      fail(fmt::format("the header length is {} bytes, above the limit of {}", length, kMaximumHeaderBytes));
    }
    if (length > available) {
      fail(fmt::format("the header length is {} bytes, but only {} follow it", length, available));
    }
    const auto text = file_.subspan(kLengthBytes, static_cast<std::size_t>(length));
    data_ = file_.subspan(kLengthBytes + static_cast<std::size_t>(length));
    Json header;
    try {
      header = parse_json({reinterpret_cast<const char*>(text.data()), text.size()}, "header");
    } catch (const UserError& error) {
      fail(error.what());
    }
    if (!header.is_object()) {
      fail(fmt::format("the header is not a JSON object but of kind {}", json_kind_name(header.kind())));
    }
    return header;
  }

  SafetensorsMetadata read_metadata(const Json& value) const {
    if (!value.is_object()) fail("__metadata__ is not a JSON object");
    SafetensorsMetadata metadata;
    for (const JsonMember& entry : value.members()) {
      if (!entry.value.is_string()) fail(fmt::format("__metadata__ entry \"{}\" is not a string", entry.key));
      metadata.emplace_back(entry.key, entry.value.string());
    }
    return metadata;
  }

  const Json& field(const std::string& tensor, const Json& entry, std::string_view key) const {
    const Json* value = entry.find(key);
    if (value == nullptr) fail_tensor(tensor, fmt::format("the header entry has no \"{}\"", key));
    return *value;
  }

  Placed read_tensor(const std::string& tensor, const Json& entry) const {
    if (!entry.is_object()) fail_tensor(tensor, "the header entry is not a JSON object");
    for (const JsonMember& member : entry.members()) {
      if (member.key != "dtype" && member.key != "shape" && member.key != "data_offsets") {
        fail_tensor(tensor, fmt::format("the header entry has an unknown key \"{}\"", member.key));
      }
    }
    Placed placed{{tensor, read_dtype(tensor, field(tensor, entry, "dtype")),
                   read_shape(tensor, field(tensor, entry, "shape")), {}}, 0, 0};
    const Json& offsets = field(tensor, entry, "data_offsets");
    const bool pair = offsets.is_array() && offsets.items().size() == 2 && is_count(offsets.items()[0]) &&
                      is_count(offsets.items()[1]);
    if (!pair) fail_tensor(tensor, "data_offsets is not a pair of non-negative integers");
    placed.begin = static_cast<std::uint64_t>(offsets.items()[0].integer());
    placed.end = static_cast<std::uint64_t>(offsets.items()[1].integer());
    check_range(placed);
    return placed;
  }

  static bool is_count(const Json& value) { return value.is_integer() && value.integer() >= 0; }

  DType read_dtype(const std::string& tensor, const Json& value) const {
    if (!value.is_string()) fail_tensor(tensor, "dtype is not a string");
    const std::optional<DType> dtype = dtype_of(value.string());
    if (!dtype) {
      fail_tensor(tensor, fmt::format("dtype \"{}\" is not supported", value.string()),
                  "convert the tensor to one of F32 F64 F16 BF16 I32 I64 BOOL U8");
    }
    return *dtype;
  }

  std::vector<std::int64_t> read_shape(const std::string& tensor, const Json& value) const {
    const bool valid = value.is_array() && std::all_of(value.items().begin(), value.items().end(), is_count);
    if (!valid) fail_tensor(tensor, "shape is not a list of non-negative integers");
    std::vector<std::int64_t> shape;
    for (const Json& extent : value.items()) shape.push_back(extent.integer());
    return shape;
  }

  void check_range(const Placed& placed) const {
    const std::string& tensor = placed.tensor.name;
    const std::string range = fmt::format("data_offsets [{}, {}]", placed.begin, placed.end);
    if (placed.begin > placed.end) fail_tensor(tensor, range + " end before they begin");
    if (placed.end > data_.size()) {
      fail_tensor(tensor, fmt::format("{} reach past the {} bytes of data in the file", range, data_.size()));
    }
    // A zero extent makes the size 0 whatever the others are, so overflow is only judged without one.
    const auto& shape = placed.tensor.shape;
    const bool none = std::find(shape.begin(), shape.end(), 0) != shape.end();
    std::uint64_t bytes = none ? 0 : dtype_size(placed.tensor.dtype);
    for (const std::int64_t extent : shape) {
      if (!none && __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) {
        fail_tensor(tensor, fmt::format("shape [{}] of {} has more bytes than 64 bits count", fmt::join(shape, ", "),
                                        dtype_name(placed.tensor.dtype)));
      }
    }
    if (bytes != placed.end - placed.begin) {
      fail_tensor(tensor, fmt::format("{} hold {} bytes, but shape [{}] of {} needs {}", range, placed.end - placed.begin,
                                      fmt::join(shape, ", "), dtype_name(placed.tensor.dtype), bytes));
    }
  }

  /// Sorted by place, the tensors must cover the data without gap or overlap.
  void check_places() const {
    std::uint64_t reached = 0;
    const Placed* previous = nullptr;
    for (const Placed& placed : tensors_) {
      if (placed.begin < reached) {
        fail_tensor(placed.tensor.name, fmt::format("data_offsets [{}, {}] overlap those of tensor \"{}\", [{}, {}]",
                                                    placed.begin, placed.end, previous->tensor.name, previous->begin,
                                                    previous->end));
      }
      if (placed.begin > reached) {
        fail_tensor(placed.tensor.name,
                    fmt::format("data_offsets [{}, {}] leave a hole of {} bytes before them", placed.begin, placed.end,
                                placed.begin - reached));
      }
      reached = placed.end;
      previous = &placed;
    }
    if (reached != data_.size()) fail(fmt::format("{} bytes follow the last tensor", data_.size() - reached));
  }

  std::span<const std::byte> file_;
  std::string_view name_;
  std::span<const std::byte> data_;
  std::vector<Placed> tensors_;
};

}  // namespace

std::vector<SafetensorsTensor> parse_safetensors(std::span<const std::byte> file, std::string_view name,
                                                 SafetensorsMetadata& metadata) {
  return HeaderReader(file, name).read(metadata);
}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  SafetensorsFile result;
  result.file_ = MappedFile::open(path, Access::sequential);
  result.tensors_ = parse_safetensors(result.file_.bytes(), path.string(), result.metadata_);
  result.by_name_.resize(result.tensors_.size());
  std::iota(result.by_name_.begin(), result.by_name_.end(), std::size_t{0});
  std::sort(result.by_name_.begin(), result.by_name_.end(),
            [&](std::size_t a, std::size_t b) { return result.tensors_[a].name < result.tensors_[b].name; });
  return result;
}

const SafetensorsTensor* SafetensorsFile::find(std::string_view name) const {
  const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                   [&](std::size_t index, std::string_view wanted) { return tensors_[index].name < wanted; });
  return at != by_name_.end() && tensors_[*at].name == name ? &tensors_[*at] : nullptr;
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Reading JSON: the grammar is nlohmann's streaming parser; values, key order, duplicate keys and positions are ours.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "io/file_write.h"
#include "io/json.h"

namespace reprise {
namespace {

constexpr std::size_t kMaximumDepth = 256;

/// Input iterator that leaves a trace of how far the parser has read.
class TrackedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TrackedIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}

  reference operator*() const { return *at_; }
  TrackedIterator& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  TrackedIterator operator++(int) {
    TrackedIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const TrackedIterator& a, const TrackedIterator& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  const char** reached_;
};

/// "1:5" for a byte offset; columns count bytes from 1.
std::string line_and_column(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return fmt::format("{}:{}", line, column);
}

/// Builds the value from the parser's events. `open_` is the chain of containers being filled.
class Builder {
 public:
  Builder(std::string_view text, std::string_view name) : text_(text), name_(name), reached_(text.data()) {}

  const char** reached() { return &reached_; }
  Json take() { return std::move(root_); }

  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json(value)); }
  bool number_integer(std::int64_t value) { return add(Json(value)); }
  bool number_unsigned(std::uint64_t value) {
    const bool fits = value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return add(fits ? Json(static_cast<std::int64_t>(value)) : Json(static_cast<double>(value)));
  }
  bool number_float(double value, const std::string&) { return add(Json(value)); }
  bool string(std::string& value) { return add(Json(std::move(value))); }
  bool binary(nlohmann::json::binary_t&) { return false; }  // the text grammar has none

  bool start_object(std::size_t) { return open(Frame{{}, {}, {}, {}, true}); }
  bool start_array(std::size_t) { return open(Frame{{}, {}, {}, {}, false}); }
  bool key(std::string& value) {
    open_.back().key = std::move(value);
    open_.back().key_offsets.push_back(offset());
    return true;
  }
  bool end_object() {
    Frame frame = std::move(open_.back());
    open_.pop_back();
    refuse_duplicates(frame);
    Json object = Json::object();
    object.members() = std::move(frame.members);
    return add(std::move(object));
  }
  bool end_array() {
    Json array = Json::array(std::move(open_.back().items));
    open_.pop_back();
    return add(std::move(array));
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
    std::string reason = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error while parsing value - ..."
    if (const std::size_t end = reason.find("] "); end != std::string::npos) reason.erase(0, end + 2);
    if (reason.starts_with("parse error")) reason.erase(0, reason.find(": ") + 2);
    if (reason.starts_with("syntax error ")) reason.erase(0, 13);
    fail(position == 0 ? 0 : position - 1, "not valid JSON: " + reason);
  }

 private:
  struct Frame {
    Json::Array items;
    Json::Object members;
    std::string key;
    std::vector<std::size_t> key_offsets;
    bool is_object;
  };

  std::size_t offset() const { return static_cast<std::size_t>(reached_ - text_.data()); }

  [[noreturn]] void fail(std::size_t at, const std::string& reason) const {
    throw UserError(fmt::format("{}:{}: {}", name_, line_and_column(text_, at), reason));
  }

  bool open(Frame frame) {
    if (open_.size() == kMaximumDepth) fail(offset() - 1, fmt::format("nested deeper than {} levels", kMaximumDepth));
    open_.push_back(std::move(frame));
    return true;
  }

  bool add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Frame& frame = open_.back(); frame.is_object) {
      frame.members.push_back({std::move(frame.key), std::move(value)});
    } else {
      frame.items.push_back(std::move(value));
    }
    return true;
  }

  void refuse_duplicates(const Frame& frame) const {
    std::vector<std::size_t> order(frame.members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return frame.members[a].key < frame.members[b].key;
    });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const std::string& key = frame.members[order[i]].key;
      if (key != frame.members[order[i - 1]].key) continue;
      fail(frame.key_offsets[order[i]] - 1, fmt::format("key \"{}\" stands twice in one object; remove one", key));
    }
  }

  std::string_view text_;
  std::string_view name_;
  const char* reached_;
  std::vector<Frame> open_;
  Json root_;
};

}  // namespace

Json parse_json(std::string_view text, std::string_view name) {
  Builder builder(text, name);
  const TrackedIterator first(text.data(), builder.reached());
  const TrackedIterator last(text.data() + text.size(), builder.reached());
  const bool parsed = nlohmann::json::sax_parse(first, last, &builder);
  REPRISE_CHECK(parsed, "the JSON parser stopped without an error");
  return builder.take();
}

Json read_json(const std::filesystem::path& path) { return parse_json(read_text_file(path), path.string()); }

}  // namespace reprise

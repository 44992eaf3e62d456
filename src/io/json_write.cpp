// SPDX-License-Identifier: Apache-2.0
// Writing JSON: deterministic text, shortest doubles that read back to the same bits.
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "io/json.h"

namespace reprise {
namespace {

/// Length of the valid UTF-8 sequence at the start of `text`, or 0 (Unicode 15, table 3-7).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto between = [&](std::size_t i, unsigned low, unsigned high) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return between(1, 0x80, 0xBF) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : 0xBF;
    return between(1, low, high) && between(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned low = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;
    return between(1, low, high) && between(2, 0x80, 0xBF) && between(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

void write_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::size_t length = utf8_length(text.substr(i));
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (length == 0) {
          out += "\xEF\xBF\xBD";
        } else if (length == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += text.substr(i, length);
        }
    }
    i += length == 0 ? 1 : length;
  }
  out += '"';
}

void write_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 40> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  const std::string_view text(digits.data(), static_cast<std::size_t>(result.ptr - digits.data()));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  void write(const Json& value) {
    switch (value.kind()) {
      case Json::Kind::null: out_ += "null"; break;
      case Json::Kind::boolean: out_ += value.boolean() ? "true" : "false"; break;
      case Json::Kind::integer: out_ += std::to_string(value.integer()); break;
      case Json::Kind::number: write_double(out_, value.number()); break;
      case Json::Kind::string: write_string(out_, value.string()); break;
      case Json::Kind::array: write_list(value.items(), '[', ']'); break;
      case Json::Kind::object: write_list(value.members(), '{', '}'); break;
    }
  }
  void write(const JsonMember& member) {
    write_string(out_, member.key);
    out_ += indent_ == kCompact ? ":" : ": ";
    write(member.value);
  }

  std::string take() { return std::move(out_); }

 private:
  template <class List>
  void write_list(const List& list, char open, char close) {
    out_ += open;
    ++depth_;
    bool first = true;
    for (const auto& item : list) {
      if (!first) out_ += indent_ == 0 ? ", " : ",";
      first = false;
      new_line();
      write(item);
    }
    --depth_;
    if (!first) new_line();
    out_ += close;
  }

  void new_line() {
    if (indent_ <= 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(indent_ * depth_), ' ');
  }

  int indent_;
  int depth_ = 0;
  std::string out_;
};

}  // namespace

std::string write_json(const Json& value, int indent) {
  Writer writer(indent);
  writer.write(value);
  return writer.take();
}

}  // namespace reprise

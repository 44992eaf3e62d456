// SPDX-License-Identifier: Apache-2.0
#include "train/text_check.h"

#include <fmt/format.h>

#include "base/error.h"
#include "tokenizer/utf8.h"

namespace reprise {
namespace {

constexpr std::size_t kInvalidShare = 100;  // at most one byte in so many may be invalid

struct Utf8Report {
  std::size_t invalid_bytes = 0;
  std::size_t first_invalid = 0;
};

/// `cut`: the text goes on behind its end.
Utf8Report examine(std::string_view text, bool cut) {
  Utf8Report report;
  for (std::size_t position = 0; position < text.size();) {
    if (static_cast<unsigned char>(text[position]) < 0x80) {
      ++position;
      continue;
    }
    const Utf8Step step = read_utf8(text, position);
    if (!step.valid && !(cut && step.cut_short)) {
      if (report.invalid_bytes == 0) report.first_invalid = position;
      report.invalid_bytes += step.length;
    }
    position += step.length;
  }
  return report;
}

}  // namespace

void refuse_zero_bytes(std::string_view text, const std::string& path, std::uint64_t offset) {
  const std::size_t at = text.find('\0');
  if (at == std::string_view::npos) return;
  throw UserError(fmt::format("{} is not text: give plain UTF-8 text; it holds a zero byte, at offset {}", path, offset + at));
}

std::size_t check_text(std::string_view text, const std::string& path) {
  if (text.empty()) throw UserError(fmt::format("{} is empty: give a file with text", path));
  refuse_zero_bytes(text, path);
  const Utf8Report report = examine(text, false);
  if (report.invalid_bytes > text.size() / kInvalidShare) {
    throw UserError(fmt::format("{} is not UTF-8 text: convert it, as with iconv -f LATIN1 -t UTF-8; {} of {} bytes are not "
                                "UTF-8, the first at offset {}",
                                path, report.invalid_bytes, text.size(), report.first_invalid));
  }
  return report.invalid_bytes;
}

bool starts_as_text(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return false;
  return examine(text, true).invalid_bytes <= text.size() / kInvalidShare;
}

}  // namespace reprise

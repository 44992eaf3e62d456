// SPDX-License-Identifier: Apache-2.0
// A valid regular file is used where it is mapped; pipes and files with invalid bytes are copied.
#include "train/text_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "io/file_write.h"
#include "tokenizer/utf8.h"

namespace reprise {

namespace {

constexpr std::size_t kInvalidShare = 100;  // at most one byte in so many may be invalid

struct Utf8Report {
  std::size_t invalid_bytes = 0;
  std::size_t first_invalid = 0;
};

Utf8Report examine(std::string_view text) {
  Utf8Report report;
  for (std::size_t position = 0; position < text.size();) {
    if (static_cast<unsigned char>(text[position]) < 0x80) {
      ++position;
      continue;
    }
    const Utf8Step step = read_utf8(text, position);
    if (!step.valid) {
      if (report.invalid_bytes == 0) report.first_invalid = position;
      report.invalid_bytes += step.length;
    }
    position += step.length;
  }
  return report;
}

}  // namespace

TextDocument TextDocument::load(const std::string& path) {
  TextDocument document;
  document.path_ = path;
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  const bool stream = path == "-" || (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
                                      !std::filesystem::is_directory(status));
  if (stream) {
    const std::string content = read_text_file(path);
    document.owned_.assign(content.begin(), content.end());
  } else {
    document.mapped_ = MappedFile::open(path, Access::sequential);
  }
  const std::string_view text = document.text();
  if (text.empty()) throw UserError(fmt::format("{} is empty: give a file with text", path));
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    throw UserError(fmt::format("{} is not text: give plain UTF-8 text; it holds a zero byte, at offset {}", path, nul));
  }
  const Utf8Report report = examine(text);
  if (report.invalid_bytes > text.size() / kInvalidShare) {
    throw UserError(fmt::format("{} is not UTF-8 text: convert it, as with iconv -f LATIN1 -t UTF-8; {} of {} bytes are not "
                                "UTF-8, the first at offset {}",
                                path, report.invalid_bytes, text.size(), report.first_invalid));
  }
  if (report.invalid_bytes > 0) {
    const std::string replaced = replace_invalid_utf8(text);
    document.owned_.assign(replaced.begin(), replaced.end());
    document.mapped_ = MappedFile();
    document.replaced_bytes_ = report.invalid_bytes;
  }
  return document;
}

std::string_view TextDocument::text() const {
  if (!owned_.empty()) return {owned_.data(), owned_.size()};
  const auto bytes = mapped_.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<TextDocument> load_documents(std::span<const std::string> paths) {
  if (paths.empty()) throw UserError("no text was given: name one or more files with --data");
  std::vector<TextDocument> documents;
  documents.reserve(paths.size());
  for (const std::string& path : paths) documents.push_back(TextDocument::load(path));
  return documents;
}

TextSplit split_documents(std::span<const std::string_view> documents, double validation_fraction) {
  REPRISE_CHECK(validation_fraction >= 0 && validation_fraction < 1, "a validation fraction lies in [0, 1)");
  std::size_t total = 0;
  for (const std::string_view document : documents) total += document.size();
  auto left = total - static_cast<std::size_t>(std::floor(static_cast<double>(total) * validation_fraction));

  TextSplit split;
  for (const std::string_view document : documents) {
    std::size_t cut = std::min(left, document.size());
    while (cut < document.size() && (static_cast<unsigned char>(document[cut]) & 0xC0u) == 0x80u) ++cut;
    left -= std::min(left, cut);
    if (cut > 0) split.train.push_back(document.substr(0, cut));
    if (cut < document.size()) split.validation.push_back(document.substr(cut));
  }
  return split;
}

std::optional<double> parse_validation_fraction(std::string_view value) {
  double fraction = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), fraction);
  if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  if (!(fraction >= 0 && fraction < 1)) {
    throw UserError(fmt::format("val_data as a fraction must be at least 0 and below 1: use 0.1 for a tenth of the text, or "
                                "./{} for a file of that name; got {}",
                                value, value));
  }
  return fraction;
}

}  // namespace reprise

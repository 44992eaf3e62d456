// SPDX-License-Identifier: Apache-2.0
// A valid regular file is used where it is mapped; what is decompressed or repaired goes through a spool file.
#include "train/text_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "io/json.h"
#include "io/spool_file.h"
#include "tokenizer/utf8.h"
#include "train/text_check.h"

namespace reprise {
namespace {

std::string_view text_of(const MappedFile& file) {
  const auto bytes = file.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The text with U+FFFD in place of what is not UTF-8.
MappedFile repaired(std::string_view text, const std::filesystem::path& spool) {
  SpoolFile file(spool);
  std::size_t valid_from = 0;
  for (std::size_t position = 0; position < text.size();) {
    const Utf8Step step = read_utf8(text, position);
    if (!step.valid) {
      file.write(text.substr(valid_from, position - valid_from));
      file.write(kReplacementCharacter);
      valid_from = position + step.length;
    }
    position += step.length;
  }
  file.write(text.substr(valid_from));
  return file.map();
}

/// Parses one line of a file; errors say FILE:LINE:COLUMN.
Json parse_line(std::string_view line, const std::string& path, std::int64_t number) {
  try {
    return parse_json(line, path);
  } catch (const UserError& error) {
    const std::string_view what = error.what();
    const std::string first_line = path + ":1:";
    if (!what.starts_with(first_line)) throw;
    throw UserError(fmt::format("{}:{}:{}", path, number, what.substr(first_line.size())));
  }
}

/// The texts of a line, in the value that was parsed.
class LineReader {
 public:
  LineReader(const Json& value, const std::string& path, std::int64_t line, const std::optional<std::string>& field)
      : value_(value), path_(path), line_(line), field_(field) {}

  Document document() const {
    Document document;
    document.path = path_;
    document.line = line_;
    if (!value_.is_object()) {
      fail(fmt::format("a line must be a JSON object, such as {{\"text\": \"...\"}}, not {}", json_kind_name(value_.kind())));
    }
    const bool pair = !field_ && value_.find("prompt") != nullptr && value_.find("completion") != nullptr;
    if (!pair) {
      document.text = string_at(field_.value_or("text"));
      return document;
    }
    if (value_.find("text") != nullptr) {
      fail("it has the field \"text\" as well as \"prompt\" and \"completion\"; name the one to learn with --text_field");
    }
    document.prompt = string_at("prompt");
    document.text = string_at("completion");
    return document;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw UserError(fmt::format("{}:{}: {}", path_, line_, what)); }

  const std::string& string_at(const std::string& field) const {
    const Json* const found = value_.find(field);
    if (found == nullptr) {
      std::vector<std::string> fields;
      for (const JsonMember& member : value_.members()) fields.push_back(member.key);
      const std::string pair = field_ ? "" : ", or the fields \"prompt\" and \"completion\"";
      fail(fmt::format("the field \"{}\" is missing; name the field that holds the text with --text_field{}; it has: {}", field, pair,
                       fields.empty() ? "none" : fmt::format("{}", fmt::join(fields, ", "))));
    }
    if (!found->is_string()) fail(fmt::format("the field \"{}\" must be a string, not {}", field, json_kind_name(found->kind())));
    return found->string();
  }

  const Json& value_;
  const std::string& path_;
  std::int64_t line_;
  const std::optional<std::string>& field_;
};

}  // namespace

std::string Document::where() const { return line == 0 ? std::string(path) : fmt::format("{}:{}", path, line); }

TextSource::TextSource(std::vector<DataFile> files, TextOptions options)
    : files_(std::move(files)), options_(std::move(options)), invalid_bytes_(files_.size()), streams_(files_.size()) {}

void TextSource::read(const DocumentSink& take) {
  for (std::size_t i = 0; i < files_.size(); ++i) read_file(i, take);
}

void TextSource::read_file(std::size_t index, const DocumentSink& take) {
  const DataFile& file = files_[index];
  const bool first = !invalid_bytes_[index];
  MappedFile opened;
  if (!file.stream || first) opened = open_data_file(file, options_.spool);
  if (file.stream && first) streams_[index] = std::move(opened);
  const std::string_view text = text_of(file.stream ? streams_[index] : opened);
  if (file.format == DataFormat::jsonl) {
    read_lines(text, file, first, take);
    invalid_bytes_[index] = 0;
    return;
  }
  if (first) {
    const std::size_t invalid = check_text(text, file.path);
    invalid_bytes_[index] = invalid;
    if (invalid > 0) warnings_.push_back(fmt::format("{}: {} bytes are not UTF-8 and were replaced by U+FFFD", file.path, invalid));
  }
  if (*invalid_bytes_[index] == 0) return take({{}, text, file.path, 0});
  const MappedFile valid = repaired(text, options_.spool);
  take({{}, text_of(valid), file.path, 0});
}

void TextSource::read_lines(std::string_view text, const DataFile& file, bool first, const DocumentSink& take) {
  std::int64_t number = 0;
  std::int64_t documents = 0;
  std::int64_t empty = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const Json value = parse_line(line, file.path, number);
    const Document document = LineReader(value, file.path, number, options_.text_field).document();
    if (document.text.empty()) {
      ++empty;
      continue;
    }
    ++documents;
    take(document);
  }
  if (documents == 0) throw UserError(fmt::format("{} holds no text: give a file of JSON lines with text", file.path));
  if (first && empty > 0) warnings_.push_back(fmt::format("{}: {} lines without text are left out", file.path, empty));
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

std::size_t character_start(std::string_view text, std::size_t cut) {
  while (cut < text.size() && (static_cast<unsigned char>(text[cut]) & 0xC0u) == 0x80u) ++cut;
  return std::min(cut, text.size());
}

}  // namespace reprise

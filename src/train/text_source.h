// SPDX-License-Identifier: Apache-2.0
// The text a run learns from: files to documents, checked. A pass reads them in order and holds one file, or one line, at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/mapped_file.h"
#include "train/data_files.h"

namespace reprise {

/// A document: a text file, or the text of a JSON line. With a prompt, only the text is to be learned.
struct Document {
  std::string_view prompt;  // of a line with prompt and completion
  std::string_view text;
  std::string_view path;
  std::int64_t line = 0;  // of JSON lines, from 1; 0: a whole file

  std::size_t bytes() const { return prompt.size() + text.size(); }
  /// "FILE" or "FILE:LINE".
  std::string where() const;
};

/// Takes a document; its texts are there during the call only.
using DocumentSink = std::function<void(const Document&)>;

struct TextOptions {
  /// The field of a JSON line that holds its text; nothing: "text", or else "prompt" and "completion".
  std::optional<std::string> text_field;
  std::filesystem::path spool;  // folder for what is decompressed or comes through a pipe; empty: as SpoolFile
};

class TextSource {
 public:
  /// `files` hold text. Nothing is read yet but that a pipe is taken over into a spool file when it is first needed.
  TextSource(std::vector<DataFile> files, TextOptions options);

  /// Gives every document to `take`, in order. Empty ones are left out. The first pass checks the text: UserError as check_text;
  /// for a JSON line FILE:LINE and what is wrong; and when a file has no document.
  void read(const DocumentSink& take);

  /// What the first pass found worth a warning: bytes that were not UTF-8, empty documents.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void read_file(std::size_t index, const DocumentSink& take);
  void read_lines(std::string_view text, const DataFile& file, bool first, const DocumentSink& take);

  std::vector<DataFile> files_;
  TextOptions options_;
  std::vector<std::optional<std::size_t>> invalid_bytes_;  // by file, once it has been checked
  std::vector<MappedFile> streams_;                        // by file: what came through a pipe
  std::vector<std::string> warnings_;
};

/// Reads what --val_data says: the fraction when it is a number, nothing when it is a path. UserError for a number outside
/// [0, 1).
std::optional<double> parse_validation_fraction(std::string_view value);

/// The start of a character at or after `cut`, so that no character is cut in two.
std::size_t character_start(std::string_view text, std::size_t cut);

}  // namespace reprise

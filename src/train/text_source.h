// SPDX-License-Identifier: Apache-2.0
// The text a run learns from: files to documents, checked, and split into training and validation text.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/mapped_file.h"

namespace reprise {

/// One text file, as valid UTF-8 in memory: the file's own mapping when it was valid as it stood.
class TextDocument {
 public:
  /// Loads `path` ("-" is standard input). UserError, with path and offset, when it is missing, empty, holds NUL bytes, or
  /// when more than one byte in a hundred is not UTF-8; fewer are replaced by U+FFFD and counted.
  static TextDocument load(const std::string& path);

  const std::string& path() const { return path_; }
  /// Stays valid while this document, or what it was moved to, lives.
  std::string_view text() const;
  /// Bytes of the file that were not UTF-8; worth a warning when not 0.
  std::size_t replaced_bytes() const { return replaced_bytes_; }

 private:
  std::string path_;
  MappedFile mapped_;
  std::vector<char> owned_;  // used when not empty; a vector, because a moved short string would move its characters
  std::size_t replaced_bytes_ = 0;
};

/// Loads the files in the order given. UserError as TextDocument::load, or when there are none.
std::vector<TextDocument> load_documents(std::span<const std::string> paths);

/// Documents, or parts of them, that are read one after the other.
struct TextSplit {
  std::vector<std::string_view> train;
  std::vector<std::string_view> validation;
};

/// Splits off the last `validation_fraction` (in [0, 1)) of all documents' bytes, at a character's start.
TextSplit split_documents(std::span<const std::string_view> documents, double validation_fraction);

/// Reads what --val_data says: the fraction when it is a number, nothing when it is a path. UserError for a number outside
/// [0, 1).
std::optional<double> parse_validation_fraction(std::string_view value);

}  // namespace reprise

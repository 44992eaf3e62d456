// SPDX-License-Identifier: Apache-2.0
// Which files --data and --val_data name, and what each of them is. The first step from paths to tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/mapped_file.h"

namespace reprise {

/// What a file holds. `automatic` is a wish only: by name and first bytes.
enum class DataFormat : std::uint8_t { automatic, text, jsonl, llm_c, nanogpt };

/// The format called "auto", "text", "jsonl", "llm.c" or "nanogpt"; nothing for another name.
std::optional<DataFormat> parse_data_format(std::string_view name);
std::string_view data_format_name(DataFormat format);
/// Whether the file holds token ids rather than text.
bool holds_tokens(DataFormat format);

struct DataFile {
  std::string path;  // "-" is standard input
  DataFormat format = DataFormat::text;
  bool stream = false;  // a pipe: can be read once only
  friend bool operator==(const DataFile&, const DataFile&) = default;
};

struct DataFiles {
  std::vector<DataFile> files;
  std::vector<std::string> skipped;  // a line per folder that holds something else too: what and why

  bool tokens() const { return !files.empty() && holds_tokens(files.front().format); }
};

/// Finds the files: those named, in that order, and those in named folders, by path (bytes), folders in folders included.
///
/// In a folder, hidden names, empty files, links to folders, and what holds no text or tokens are left out and said in
/// `skipped`. With `automatic`, the name without .gz or .zst decides: .jsonl and .ndjson hold JSON lines, .bin tokens if it has
/// the header of llm.c, anything else text. UserError when a path is missing or a device, a folder holds nothing, a named file
/// is a .bin without header or a .json, or text and tokens come together.
DataFiles find_data_files(std::span<const std::string> paths, DataFormat format);

/// Bytes of all the files, which hold no more tokens than that; nothing where it shows only in reading: compressed files, streams.
std::optional<std::uint64_t> plain_bytes(const DataFiles& files);

/// The content of a file, decompressed, as memory that the system may take back: the file's own mapping, or one of a spool file
/// in `spool` (io/spool_file.h). UserError when it is missing or damaged, and for a stream of text that holds a zero byte.
MappedFile open_data_file(const DataFile& file, const std::filesystem::path& spool);

}  // namespace reprise

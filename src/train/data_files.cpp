// SPDX-License-Identifier: Apache-2.0
#include "train/data_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "io/compressed.h"
#include "io/file_descriptor.h"
#include "io/file_error.h"
#include "io/spool_file.h"
#include "train/text_check.h"
#include "train/token_file.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSample = 1 << 16;     // bytes looked at to tell text from other things
constexpr std::size_t kPiece = std::size_t{1} << 18;
constexpr std::size_t kMostNamed = 4;        // skipped files named one by one

constexpr std::array<std::pair<std::string_view, DataFormat>, 5> kFormats{{{"auto", DataFormat::automatic},
                                                                           {"text", DataFormat::text},
                                                                           {"jsonl", DataFormat::jsonl},
                                                                           {"llm.c", DataFormat::llm_c},
                                                                           {"nanogpt", DataFormat::nanogpt}}};

std::string_view without_compression(std::string_view name) {
  for (const std::string_view ending : {".gz", ".zst", ".zstd"}) {
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  return name;
}

/// The first bytes of the content, decompressed.
std::vector<std::byte> sample_of(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  const std::span<const std::byte> bytes = file.bytes();
  std::vector<std::byte> sample;
  decompress(compression_of(bytes), bytes, path, [&sample](std::span<const std::byte> piece) {
    const std::size_t taken = std::min(piece.size(), kSample - sample.size());
    sample.insert(sample.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(taken));
    return sample.size() < kSample;
  });
  return sample;
}

/// Why a file of a folder is left out; empty: it is not.
std::string reason_to_skip(const std::string& path, DataFormat& format) {
  const MappedFile file = MappedFile::open(path);
  if (file.bytes().empty()) return "empty";
  const std::string_view name = without_compression(path);
  if (format == DataFormat::automatic) {
    if (name.ends_with(".json")) return "a .json, not JSON lines";
    format = name.ends_with(".jsonl") || name.ends_with(".ndjson") ? DataFormat::jsonl
             : name.ends_with(".bin")                              ? DataFormat::llm_c
                                                                   : DataFormat::text;
  }
  if (format == DataFormat::nanogpt) return "";
  const std::vector<std::byte> sample = sample_of(path);
  if (format == DataFormat::llm_c) return has_llm_c_header(sample) ? "" : "no header of llm.c";
  return starts_as_text({reinterpret_cast<const char*>(sample.data()), sample.size()}) ? "" : "not text";
}

/// Regular files below a folder, by path; what is left out without looking at it goes to `skipped`.
std::vector<std::string> files_below(const std::string& folder, std::vector<std::string>& skipped) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  while (!error && entry != fs::recursive_directory_iterator()) {
    const std::string path = entry->path().string();
    const bool hidden = entry->path().filename().string().starts_with('.');
    std::error_code unreadable;
    const fs::file_status status = entry->status(unreadable);
    if (hidden) {
      if (fs::is_directory(status)) entry.disable_recursion_pending();
      skipped.push_back(path + " (hidden)");
    } else if (fs::is_regular_file(status)) {
      paths.push_back(path);
    } else if (!fs::is_directory(status) || entry->is_symlink(unreadable)) {
      skipped.push_back(path + (fs::is_directory(status) ? " (a link to a folder)" : " (not a regular file)"));
    }
    entry.increment(error);
  }
  if (error) throw_file_error("read", folder, error.value());
  std::sort(paths.begin(), paths.end());
  return paths;
}

void add_folder(DataFiles& found, const std::string& folder, DataFormat wish) {
  std::vector<std::string> skipped;
  const std::size_t before = found.files.size();
  for (const std::string& path : files_below(folder, skipped)) {
    DataFormat format = wish;
    const std::string reason = reason_to_skip(path, format);
    if (reason.empty()) {
      found.files.push_back({path, format, false});
    } else {
      skipped.push_back(fmt::format("{} ({})", path, reason));
    }
  }
  std::sort(skipped.begin(), skipped.end());
  const std::size_t count = skipped.size();
  if (count > kMostNamed) skipped.resize(kMostNamed);
  const std::string names =
      fmt::format("{}{}", fmt::join(skipped, ", "), count > kMostNamed ? fmt::format(" and {} more", count - kMostNamed) : "");
  if (found.files.size() == before) {
    throw UserError(fmt::format("there is no text to train on in the folder; give files, or a folder that holds some: {}{}", folder,
                                count == 0 ? "" : "; left out: " + names));
  }
  if (count > 0) {
    found.skipped.push_back(
        fmt::format("{}: {} left out: {}", folder, count == 1 ? "1 file is" : fmt::format("{} files are", count), names));
  }
}

/// The format of a file that was named.
DataFormat format_of(const std::string& path, DataFormat wish) {
  if (wish != DataFormat::automatic) return wish;
  const std::string_view name = without_compression(path);
  if (name.ends_with(".jsonl") || name.ends_with(".ndjson")) return DataFormat::jsonl;
  if (name.ends_with(".json")) {
    throw UserError(fmt::format("{} may be JSON lines or one value; give --data_format jsonl when each line is an object, or --data_format "
                                "text to learn the JSON text itself",
                                path));
  }
  if (!name.ends_with(".bin")) return DataFormat::text;
  if (has_llm_c_header(sample_of(path))) return DataFormat::llm_c;
  throw UserError(fmt::format("{} has no header that says what it is; if it holds 16-bit token ids and nothing else, as nanoGPT's "
                              "prepare.py writes them, give --data_format nanogpt",
                              path));
}

void add_named(DataFiles& found, const std::string& path, DataFormat wish) {
  if (path == "-") {
    found.files.push_back({path, wish == DataFormat::automatic ? DataFormat::text : wish, true});
    return;
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw_file_error("read", path, errno);
  if (S_ISDIR(status.st_mode)) return add_folder(found, path, wish);
  if (S_ISREG(status.st_mode)) {
    if (::access(path.c_str(), R_OK) != 0) throw_file_error("read", path, errno);
    found.files.push_back({path, format_of(path, wish), false});
  } else if (S_ISFIFO(status.st_mode)) {
    found.files.push_back({path, wish == DataFormat::automatic ? DataFormat::text : wish, true});
  } else {
    throw UserError(fmt::format("{} is a device, which need not end: copy what is wanted of it to a file, or pipe it to --data -", path));
  }
}

/// Reads a stream into a spool file.
MappedFile spool_stream(const DataFile& file, const fs::path& spool) {
  const bool standard_input = file.path == "-";
  const std::string name = standard_input ? "standard input" : file.path;
  const FileDescriptor opened(standard_input ? -1 : ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!standard_input && !opened.valid()) throw_file_error("read", name, errno);
  const int fd = standard_input ? STDIN_FILENO : opened.get();
  SpoolFile spooled(spool);
  std::vector<std::byte> piece(kPiece);
  bool text = !holds_tokens(file.format);
  while (true) {
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_file_error("read", name, errno);
    if (count == 0) return spooled.map();
    const std::span<const std::byte> read(piece.data(), static_cast<std::size_t>(count));
    if (spooled.size() == 0 && compression_of(read) != Compression::none) text = false;
    // What is no text may have no end, so it is refused as soon as it is seen.
    if (text) refuse_zero_bytes({reinterpret_cast<const char*>(read.data()), read.size()}, name, spooled.size());
    spooled.write(read);
  }
}

}  // namespace

std::optional<DataFormat> parse_data_format(std::string_view name) {
  for (const auto& [known, format] : kFormats) {
    if (known == name) return format;
  }
  return std::nullopt;
}

std::string_view data_format_name(DataFormat format) {
  for (const auto& [name, known] : kFormats) {
    if (known == format) return name;
  }
  return "";
}

bool holds_tokens(DataFormat format) { return format == DataFormat::llm_c || format == DataFormat::nanogpt; }

DataFiles find_data_files(std::span<const std::string> paths, DataFormat format) {
  if (paths.empty()) throw UserError("no text was given: name one or more files with --data");
  DataFiles found;
  for (const std::string& path : paths) add_named(found, path, format);
  for (const DataFile& file : found.files) {
    if (holds_tokens(file.format) == found.tokens()) continue;
    throw UserError(fmt::format("text and token files cannot be mixed; give one kind: {} and {}", found.files.front().path, file.path));
  }
  return found;
}

std::optional<std::uint64_t> plain_bytes(const DataFiles& files) {
  std::uint64_t total = 0;
  for (const DataFile& file : files.files) {
    if (file.stream) return std::nullopt;
    const MappedFile raw = MappedFile::open(file.path, Access::sequential);
    if (compression_of(raw.bytes()) != Compression::none) return std::nullopt;
    total += raw.bytes().size();
  }
  return total;
}

MappedFile open_data_file(const DataFile& file, const fs::path& spool) {
  MappedFile raw = file.stream ? spool_stream(file, spool) : MappedFile::open(file.path, Access::sequential);
  const Compression compression = compression_of(raw.bytes());
  if (compression == Compression::none) {
    for (const std::string_view ending : {".gz", ".zst", ".zstd"}) {
      if (file.path.ends_with(ending) && !raw.bytes().empty()) {
        throw UserError(fmt::format("{} is not compressed, though it is called so; copy or download it again, or rename it", file.path));
      }
    }
    return raw;
  }
  SpoolFile unpacked(spool);
  decompress(compression, raw.bytes(), file.path, [&unpacked](std::span<const std::byte> piece) {
    unpacked.write(piece);
    return true;
  });
  return unpacked.map();
}

}  // namespace reprise

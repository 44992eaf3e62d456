// SPDX-License-Identifier: Apache-2.0
// The header is one trivially copyable struct, written and read whole: x86-64 is little-endian, as the format is.
#include "train/token_shards.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "io/file_write.h"
#include "io/spool_file.h"
#include "train/content_hash.h"

namespace reprise {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::array<char, 8> kMagic = {'R', 'P', 'R', 'T', 'O', 'K', 'E', 'N'};
constexpr std::uint32_t kVersion = 2;
constexpr std::int64_t kLargestTwoByteVocabulary = 65536;
constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 56;  // the bytes of all parts fit 64 bits

struct ShardHeader {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t token_bytes = 0;
  std::uint64_t token_count = 0;
  std::uint64_t document_count = 0;
  std::uint64_t has_targets = 0;
  std::uint64_t key = 0;
  std::uint64_t tokenizer_fingerprint = 0;
  std::uint64_t vocabulary_size = 0;
  std::uint64_t content_hash = 0;
  std::uint64_t header_hash = 0;

  std::uint64_t expected_header_hash() const { return XXH3_64bits(this, offsetof(ShardHeader, header_hash)); }
  std::uint64_t bytes_of_tokens() const { return (token_count * token_bytes + 7) / 8 * 8; }
  std::uint64_t bytes_of_targets() const { return has_targets != 0 ? (token_count + 63) / 64 * 8 : 0; }
  std::uint64_t bytes_of_file() const { return sizeof(ShardHeader) + bytes_of_tokens() + 8 * document_count + bytes_of_targets(); }
};
static_assert(sizeof(ShardHeader) == 80 && std::is_trivially_copyable_v<ShardHeader>);

[[noreturn]] void refuse(const std::string& name, std::string_view what) {
  throw UserError(fmt::format("token shard {} {}; delete it and it will be built again", name, what));
}

ShardHeader read_header(std::span<const std::byte> bytes, const std::string& name) {
  ShardHeader header;
  constexpr std::size_t kThroughVersion = offsetof(ShardHeader, token_bytes);
  if (bytes.size() < kThroughVersion) {
    refuse(name, fmt::format("is cut short: {} bytes expected at least, {} there", sizeof(header), bytes.size()));
  }
  std::memcpy(static_cast<void*>(&header), bytes.data(), kThroughVersion);
  if (header.magic != kMagic) refuse(name, "is not a token shard");
  if (header.version > kVersion) {
    refuse(name, fmt::format("has format version {}, newer than this program's {}: use a newer reprise", header.version, kVersion));
  }
  if (header.version < kVersion) {
    refuse(name, fmt::format("has format version {}, which this program no longer reads; it reads {}", header.version, kVersion));
  }
  if (bytes.size() < sizeof(header)) {
    refuse(name, fmt::format("is cut short: {} bytes expected at least, {} there", sizeof(header), bytes.size()));
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  const bool sizes_make_sense = (header.token_bytes == 2 || header.token_bytes == 4) && header.token_count <= kMostTokens &&
                                header.document_count <= header.token_count && header.has_targets <= 1;
  if (header.header_hash != header.expected_header_hash() || !sizes_make_sense) {
    refuse(name, "is damaged: its header does not match its checksum");
  }
  return header;
}

bool starts_ascend(std::span<const std::uint64_t> starts, std::uint64_t token_count) {
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const bool follows = i == 0 ? starts[0] == 0 : starts[i] > starts[i - 1];
    if (!follows || starts[i] >= token_count) return false;
  }
  return starts.empty() == (token_count == 0);
}

}  // namespace

ShardParts parse_shard(std::span<const std::byte> bytes, const std::string& name) {
  const ShardHeader header = read_header(bytes, name);
  const std::uint64_t expected = header.bytes_of_file();
  if (bytes.size() < expected) refuse(name, fmt::format("is cut short: {} bytes expected, {} there", expected, bytes.size()));
  if (bytes.size() > expected) refuse(name, fmt::format("is too long: {} bytes expected, {} there", expected, bytes.size()));
  const std::span<const std::byte> content = bytes.subspan(sizeof(header));
  if (header.content_hash != XXH3_64bits(content.data(), content.size())) {
    refuse(name, "is damaged: its content does not match its checksum");
  }
  ShardParts parts;
  const auto count = static_cast<std::size_t>(header.token_count);
  if (header.token_bytes == 2) {
    parts.tokens = std::span(reinterpret_cast<const std::uint16_t*>(content.data()), count);
  } else {
    parts.tokens = std::span(reinterpret_cast<const std::uint32_t*>(content.data()), count);
  }
  const std::byte* const starts = content.data() + header.bytes_of_tokens();
  parts.documents = {reinterpret_cast<const std::uint64_t*>(starts), static_cast<std::size_t>(header.document_count)};
  if (!starts_ascend(parts.documents, header.token_count)) refuse(name, "is damaged: its documents do not follow one another");
  if (header.has_targets != 0) parts.tokens = parts.tokens.with_targets(content.last(static_cast<std::size_t>(header.bytes_of_targets())));
  parts.key = header.key;
  parts.tokenizer_fingerprint = header.tokenizer_fingerprint;
  parts.vocabulary_size = header.vocabulary_size;
  return parts;
}

TokenShard TokenShard::open(const std::filesystem::path& path, const Tokenizer& tokenizer) {
  TokenShard shard;
  shard.path_ = path;
  shard.file_ = MappedFile::open(path);
  const ShardParts parts = parse_shard(shard.file_.bytes(), path.string());
  if (parts.tokenizer_fingerprint != tokenizer.fingerprint()) {
    refuse(path.string(), fmt::format("was made with another tokenizer, of {} tokens where this one has {}", parts.vocabulary_size,
                                      tokenizer.vocab_size()));
  }
  shard.tokens_ = parts.tokens;
  shard.documents_ = parts.documents;
  shard.key_ = parts.key;
  return shard;
}

struct ShardWriter::State {
  AtomicFile file;
  ShardHeader header;
  SpoolFile starts;
  SpoolFile target_bits;
  std::uint64_t bits = 0;  // of the tokens from the last multiple of 64 on
  bool document_begins = false;
  ContentHash hash;
  std::vector<std::byte> converted;

  explicit State(const std::filesystem::path& path) : file(path), starts(path.parent_path()), target_bits(path.parent_path()) {}

  /// Writes a part behind the header.
  void write(std::span<const std::byte> bytes) {
    hash.add(bytes);
    file.write(bytes);
  }

  template <class Token>
  void write_tokens(std::span<const std::int32_t> ids) {
    converted.resize(ids.size() * sizeof(Token));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto token = static_cast<Token>(ids[i]);
      std::memcpy(converted.data() + i * sizeof(Token), &token, sizeof(Token));
    }
    write(converted);
  }

  void add_target_bits(std::size_t count, bool target) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t at = (header.token_count + i) % 64;
      if (target) bits |= std::uint64_t{1} << at;
      if (at == 63) flush_bits();
    }
  }

  void flush_bits() {
    target_bits.write(std::as_bytes(std::span(&bits, 1)));
    bits = 0;
  }
};

ShardWriter::ShardWriter(const std::filesystem::path& path, const Tokenizer& tokenizer, std::uint64_t key)
    : state_(std::make_unique<State>(path)) {
  ShardHeader& header = state_->header;
  header.token_bytes = tokenizer.vocab_size() <= kLargestTwoByteVocabulary ? 2 : 4;
  header.key = key;
  header.tokenizer_fingerprint = tokenizer.fingerprint();
  header.vocabulary_size = static_cast<std::uint64_t>(tokenizer.vocab_size());
  state_->file.write(std::as_bytes(std::span(&header, 1)));
}

ShardWriter::~ShardWriter() = default;

void ShardWriter::begin_document() { state_->document_begins = true; }

void ShardWriter::add(std::span<const std::int32_t> ids, bool target) {
  State& s = *state_;
  if (ids.empty()) return;
  if (s.document_begins || s.header.token_count == 0) {
    s.starts.write(std::as_bytes(std::span(&s.header.token_count, 1)));
    ++s.header.document_count;
    s.document_begins = false;
  }
  if (s.header.token_bytes == 2) {
    s.write_tokens<std::uint16_t>(ids);
  } else {
    s.write_tokens<std::uint32_t>(ids);
  }
  s.add_target_bits(ids.size(), target);
  if (!target) s.header.has_targets = 1;
  s.header.token_count += ids.size();
}

std::int64_t ShardWriter::size() const { return static_cast<std::int64_t>(state_->header.token_count); }

void ShardWriter::finish() {
  State& s = *state_;
  const std::array<std::byte, 8> zeros{};
  s.write(std::span(zeros).first(static_cast<std::size_t>(s.header.bytes_of_tokens() - s.header.token_count * s.header.token_bytes)));
  s.write(s.starts.map().bytes());
  if (s.header.token_count % 64 != 0) s.flush_bits();
  if (s.header.has_targets != 0) s.write(s.target_bits.map().bytes());
  s.header.content_hash = s.hash.digest();
  s.header.header_hash = s.header.expected_header_hash();
  s.file.overwrite(0, std::as_bytes(std::span(&s.header, 1)));
  s.file.commit();
}

std::filesystem::path shard_path(const std::filesystem::path& folder, std::string_view label, std::uint64_t key) {
  return folder / fmt::format("{}-{:016x}.tokens", label, key);
}

}  // namespace reprise

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
#include "io/directory.h"
#include "io/file_write.h"

namespace reprise {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::array<char, 8> kMagic = {'R', 'P', 'R', 'T', 'O', 'K', 'E', 'N'};
constexpr std::uint32_t kVersion = 1;
constexpr std::int64_t kLargestTwoByteVocabulary = 65536;
constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 60;  // their bytes fit 64 bits

struct ShardHeader {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t token_bytes = 0;
  std::uint64_t token_count = 0;
  std::uint64_t documents_hash = 0;
  std::uint64_t tokenizer_fingerprint = 0;
  std::uint64_t tokens_hash = 0;
  std::uint64_t vocabulary_size = 0;
  std::uint64_t header_hash = 0;

  std::uint64_t expected_header_hash() const { return XXH3_64bits(this, offsetof(ShardHeader, header_hash)); }
};
static_assert(sizeof(ShardHeader) == 64 && std::is_trivially_copyable_v<ShardHeader>);

struct StateDeleter {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

std::uint64_t hash_documents(std::span<const std::string_view> documents) {
  const std::unique_ptr<XXH3_state_t, StateDeleter> state(XXH3_createState());
  REPRISE_CHECK(state != nullptr, "no memory for a hash state");
  XXH3_64bits_reset(state.get());
  for (const std::string_view document : documents) {
    const std::uint64_t length = document.size();
    XXH3_64bits_update(state.get(), &length, sizeof(length));
    XXH3_64bits_update(state.get(), document.data(), document.size());
  }
  return XXH3_64bits_digest(state.get());
}

template <class Token>
void write_tokens(const std::filesystem::path& path, std::span<const std::string_view> documents, const Tokenizer& tokenizer) {
  std::vector<Token> tokens;
  const TokenSink sink = [&tokens](std::span<const std::int32_t> ids) {
    for (const std::int32_t id : ids) tokens.push_back(static_cast<Token>(id));
  };
  const TextFrame& frame = tokenizer.frame();
  std::optional<std::int32_t> separator = tokenizer.end_of_text();
  if (separator && !frame.after.empty() && frame.after.back() == *separator) separator.reset();  // each document ends with it
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (i > 0 && separator) tokens.push_back(static_cast<Token>(*separator));
    sink(frame.before);
    tokenizer.encode_to(documents[i], sink);
    sink(frame.after);
  }
  ShardHeader header;
  header.token_bytes = sizeof(Token);
  header.token_count = tokens.size();
  header.documents_hash = hash_documents(documents);
  header.tokenizer_fingerprint = tokenizer.fingerprint();
  header.tokens_hash = XXH3_64bits(tokens.data(), tokens.size() * sizeof(Token));
  header.vocabulary_size = static_cast<std::uint64_t>(tokenizer.vocab_size());
  header.header_hash = header.expected_header_hash();

  AtomicFile file(path);
  file.write(std::as_bytes(std::span(&header, 1)));
  file.write(std::as_bytes(std::span(tokens)));
  file.commit();
}

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view what) {
  throw UserError(fmt::format("token shard {} {}; delete it and it will be built again", path.string(), what));
}

ShardHeader read_header(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  ShardHeader header;
  if (bytes.size() < sizeof(header)) {
    refuse(path, fmt::format("is cut short: {} bytes expected at least, {} there", sizeof(header), bytes.size()));
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kMagic) refuse(path, "is not a token shard");
  if (header.version > kVersion) {
    refuse(path, fmt::format("has format version {}, newer than this program's {}: use a newer reprise", header.version,
                             kVersion));
  }
  const bool sizes_make_sense = (header.token_bytes == 2 || header.token_bytes == 4) && header.token_count <= kMostTokens;
  if (header.header_hash != header.expected_header_hash() || !sizes_make_sense) {
    refuse(path, "is damaged: its header does not match its checksum");
  }
  return header;
}

}  // namespace

TokenShard TokenShard::open(const std::filesystem::path& path, const Tokenizer& tokenizer) {
  TokenShard shard;
  shard.path_ = path;
  shard.file_ = MappedFile::open(path);
  const std::span<const std::byte> bytes = shard.file_.bytes();
  const ShardHeader header = read_header(path, bytes);
  const std::uint64_t expected = sizeof(header) + header.token_count * header.token_bytes;
  if (bytes.size() < expected) {
    refuse(path, fmt::format("is cut short: {} bytes expected, {} there", expected, bytes.size()));
  }
  if (bytes.size() > expected) {
    refuse(path, fmt::format("is too long: {} bytes expected, {} there", expected, bytes.size()));
  }
  if (header.tokenizer_fingerprint != tokenizer.fingerprint()) {
    refuse(path, fmt::format("was made with another tokenizer, of {} tokens where this one has {}", header.vocabulary_size,
                             tokenizer.vocab_size()));
  }
  const std::byte* tokens = bytes.data() + sizeof(header);
  if (header.tokens_hash != XXH3_64bits(tokens, bytes.size() - sizeof(header))) {
    refuse(path, "is damaged: its tokens do not match their checksum");
  }
  const auto count = static_cast<std::size_t>(header.token_count);
  if (header.token_bytes == 2) {
    shard.tokens_ = std::span(reinterpret_cast<const std::uint16_t*>(tokens), count);
  } else {
    shard.tokens_ = std::span(reinterpret_cast<const std::uint32_t*>(tokens), count);
  }
  return shard;
}

void write_shard(const std::filesystem::path& path, std::span<const std::string_view> documents, const Tokenizer& tokenizer) {
  if (tokenizer.vocab_size() <= kLargestTwoByteVocabulary) {
    write_tokens<std::uint16_t>(path, documents, tokenizer);
  } else {
    write_tokens<std::uint32_t>(path, documents, tokenizer);
  }
}

TokenShard open_or_build_shard(const std::filesystem::path& folder, std::string_view label,
                               std::span<const std::string_view> documents, const Tokenizer& tokenizer) {
  const std::array<std::uint64_t, 2> sources = {hash_documents(documents), tokenizer.fingerprint()};
  const std::uint64_t key = XXH3_64bits(sources.data(), sizeof(sources));
  const std::filesystem::path path = folder / fmt::format("{}-{:016x}.tokens", label, key);
  if (!std::filesystem::exists(path)) {
    make_directories(folder);
    write_shard(path, documents, tokenizer);
  }
  return TokenShard::open(path, tokenizer);
}

}  // namespace reprise

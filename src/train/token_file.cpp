// SPDX-License-Identifier: Apache-2.0
#include "train/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace reprise {
namespace {

constexpr std::size_t kHeaderBytes = 1024;

struct Kind {
  std::uint32_t magic, version, token_bytes;
};
constexpr std::array kKinds{Kind{20240520, 1, 2}, Kind{20240801, 7, 4}};

std::uint32_t word(std::span<const std::byte> bytes, std::size_t index) {
  std::uint32_t value;
  std::memcpy(&value, bytes.data() + 4 * index, sizeof(value));
  return value;
}

const Kind* kind_of(std::span<const std::byte> bytes) {
  if (bytes.size() < 4) return nullptr;
  const auto* const found = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return kind.magic == word(bytes, 0); });
  return found == kKinds.end() ? nullptr : found;
}

TokenView view_of(std::span<const std::byte> bytes, std::size_t token_bytes) {
  const std::size_t count = bytes.size() / token_bytes;
  if (token_bytes == 2) return std::span(reinterpret_cast<const std::uint16_t*>(bytes.data()), count);
  return std::span(reinterpret_cast<const std::uint32_t*>(bytes.data()), count);
}

TokenView llm_c_tokens(std::span<const std::byte> bytes, const std::string& path) {
  const Kind* const kind = kind_of(bytes);
  if (kind == nullptr) {
    throw UserError(
        fmt::format("{} is no token file of llm.c: it does not start with {} or {}; give --data_format nanogpt when it holds 16-bit "
                    "token ids and nothing else",
                    path, kKinds[0].magic, kKinds[1].magic));
  }
  if (bytes.size() < kHeaderBytes) {
    throw UserError(fmt::format("{} is cut short: a header has {} bytes, {} are there; copy it again", path, kHeaderBytes, bytes.size()));
  }
  if (word(bytes, 1) != kind->version) {
    throw UserError(
        fmt::format("{} has version {} of llm.c's token files; write it again in version {}", path, word(bytes, 1), kind->version));
  }
  const std::uint64_t expected = kHeaderBytes + std::uint64_t{word(bytes, 2)} * kind->token_bytes;
  if (bytes.size() != expected) {
    throw UserError(fmt::format("{} is {}: {} tokens take {} bytes, {} are there; copy it again", path,
                                bytes.size() < expected ? "cut short" : "too long", word(bytes, 2), expected, bytes.size()));
  }
  return view_of(bytes.subspan(kHeaderBytes), kind->token_bytes);
}

TokenView nanogpt_tokens(std::span<const std::byte> bytes, const std::string& path) {
  if (bytes.size() % 2 != 0) {
    throw UserError(fmt::format("{} is no file of 16-bit tokens: its number of bytes is odd; copy it again: {}", path, bytes.size()));
  }
  if (kind_of(bytes) != nullptr) throw UserError(fmt::format("{} has the header of llm.c; give --data_format llm.c", path));
  return view_of(bytes, 2);
}

}  // namespace

bool has_llm_c_header(std::span<const std::byte> bytes) { return kind_of(bytes) != nullptr; }

TokenFile TokenFile::open(const DataFile& file, const std::filesystem::path& spool) {
  TokenFile opened;
  opened.file_ = open_data_file(file, spool);
  const std::span<const std::byte> bytes = opened.file_.bytes();
  opened.tokens_ = file.format == DataFormat::llm_c ? llm_c_tokens(bytes, file.path) : nanogpt_tokens(bytes, file.path);
  if (opened.tokens_.size() == 0) throw UserError(fmt::format("{} holds no tokens: give a file with some", file.path));
  return opened;
}

}  // namespace reprise

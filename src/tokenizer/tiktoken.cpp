// SPDX-License-Identifier: Apache-2.0
// Merges are listed by the rank of their result; those of one result by the ranks of their parts, as Hugging Face's converter does.
#include "tokenizer/tiktoken.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "tokenizer/byte_alphabet.h"

namespace reprise {

namespace {

constexpr std::size_t kGpt2Tokens = 50256;
constexpr std::size_t kLlama3Tokens = 128000;
constexpr std::size_t kQwenTokens = 151643;
constexpr int kLlama3Reserved = 251;

/// Returns the bytes that `text` stands for, or nothing when it is not base64 (RFC 4648, padded).
std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  std::uint32_t bits = 0;
  std::size_t digits = 0;
  std::size_t padding = 0;
  for (const char c : text) {
    std::uint32_t value = 0;
    if (c >= 'A' && c <= 'Z') value = static_cast<std::uint32_t>(c - 'A');
    else if (c >= 'a' && c <= 'z') value = static_cast<std::uint32_t>(c - 'a' + 26);
    else if (c >= '0' && c <= '9') value = static_cast<std::uint32_t>(c - '0' + 52);
    else if (c == '+') value = 62;
    else if (c == '/') value = 63;
    else if (c == '=' && text.size() - digits - padding <= 2) ++padding;
    else return std::nullopt;
    if (padding == 0) ++digits;
    else if (c != '=') return std::nullopt;
    bits = bits << 6 | value;
    if ((digits + padding) % 4 != 0) continue;
    for (std::size_t i = 0; i < 3 - padding; ++i) {
      bytes.push_back(static_cast<char>(static_cast<std::uint8_t>(bits >> (16 - 8 * i) & 0xFFu)));
    }
    bits = 0;
  }
  return bytes;
}

std::vector<std::string> read_ranks(std::string_view text, const std::string& path) {
  std::vector<std::string> tokens;
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view entry = text.substr(begin, end - begin);
    begin = end + 1;
    ++line;
    if (entry.ends_with('\r')) entry.remove_suffix(1);
    if (entry.empty()) continue;
    const std::size_t space = entry.find(' ');
    const auto bytes = space == std::string_view::npos ? std::nullopt : from_base64(entry.substr(0, space));
    const std::string_view digits = entry.substr(std::min(entry.size(), space + 1));
    std::size_t rank = 0;
    const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    if (!bytes || bytes->empty() || error != std::errc() || last != digits.data() + digits.size()) {
      throw UserError(
          fmt::format("{}:{}: not a line of a .tiktoken file: a token's bytes in base64, a space and its rank are expected", path, line));
    }
    if (rank != tokens.size()) throw UserError(fmt::format("{}:{}: ranks must run 0, 1, 2, ...; found {}", path, line, rank));
    tokens.push_back(*bytes);
  }
  return tokens;
}

using Ranks = std::unordered_map<std::string_view, std::int32_t>;

std::vector<std::pair<std::int32_t, std::int32_t>> merges_of(const std::vector<std::string>& tokens, const Ranks& ranks) {
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;
  for (const std::string& token : tokens) {
    const auto first = static_cast<std::ptrdiff_t>(merges.size());
    for (std::size_t cut = 1; cut < token.size(); ++cut) {
      const auto left = ranks.find(std::string_view(token).substr(0, cut));
      const auto right = ranks.find(std::string_view(token).substr(cut));
      if (left != ranks.end() && right != ranks.end()) merges.emplace_back(left->second, right->second);
    }
    std::sort(merges.begin() + first, merges.end());
  }
  return merges;
}

}  // namespace

TiktokenFormat tiktoken_format(std::size_t tokens, const std::string& path) {
  TiktokenFormat format;
  switch (tokens) {
    case kGpt2Tokens: format.special = {std::string(kEndOfText)}; break;
    case kQwenTokens:
      format.pattern = WordPattern::qwen2;
      format.special = {std::string(kEndOfText), "<|im_start|>", "<|im_end|>"};
      break;
    case kLlama3Tokens:
      format.pattern = WordPattern::llama3;
      format.bos = 0;
      format.eos = 1;
      format.special = {"<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|reserved_special_token_1|>",
                        "<|reserved_special_token_2|>", "<|reserved_special_token_3|>", "<|start_header_id|>", "<|end_header_id|>",
                        "<|reserved_special_token_4|>", "<|eot_id|>"};
      for (int i = 5; i < kLlama3Reserved; ++i) format.special.push_back(fmt::format("<|reserved_special_token_{}|>", i));
      break;
    default:
      throw UserError(fmt::format(
          "{}: which pattern cuts the text of this .tiktoken file is not known; take a tokenizer.json, or the file of GPT-2 ({} "
          "tokens), Llama 3 ({}) or Qwen ({}); it has {}",
          path, kGpt2Tokens, kLlama3Tokens, kQwenTokens, tokens));
  }
  return format;
}

std::unique_ptr<Tokenizer> parse_tiktoken(std::string_view text, const std::string& path) {
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), ' '));
  return parse_tiktoken(text, path, tiktoken_format(lines, path));
}

std::unique_ptr<Tokenizer> parse_tiktoken(std::string_view text, const std::string& path, const TiktokenFormat& format) {
  const std::vector<std::string> tokens = read_ranks(text, path);
  Ranks ranks;
  ranks.reserve(tokens.size());
  for (std::size_t rank = 0; rank < tokens.size(); ++rank) ranks.emplace(tokens[rank], static_cast<std::int32_t>(rank));
  ByteLevelBpe bpe;
  bpe.pattern = format.pattern;
  bpe.ignore_merges = true;
  bpe.vocabulary.merges = merges_of(tokens, ranks);
  for (const std::string& token : tokens) bpe.vocabulary.tokens.push_back(to_byte_alphabet(token));
  for (const std::string& token : format.special) {
    bpe.special.push_back(static_cast<std::int32_t>(bpe.vocabulary.tokens.size()));
    bpe.vocabulary.tokens.push_back(token);
  }
  if (format.bos) bpe.roles.bos = bpe.special.at(*format.bos);
  bpe.roles.eos = bpe.special.at(format.eos);
  bpe.add_bos = format.bos.has_value();
  return make_byte_level_bpe(std::move(bpe), path);
}

}  // namespace reprise

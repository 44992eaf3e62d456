// SPDX-License-Identifier: Apache-2.0
#include "train/shard_encoding.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

#include "base/error.h"
#include "train/content_hash.h"
#include "train/token_file.h"

namespace reprise {
namespace {

constexpr std::int64_t kPiece = 1 << 16;  // tokens converted at a time

/// Gives the tokens of `files` piece by piece: take(format, path, index of the first in its file, ids).
template <class Take>
void read_token_files(const std::vector<DataFile>& files, const std::filesystem::path& spool, const Take& take) {
  std::vector<std::int32_t> ids;
  for (const DataFile& file : files) {
    const TokenFile opened = TokenFile::open(file, spool);
    for (std::int64_t i = 0; i < opened.tokens().size(); i += kPiece) {
      const std::int64_t count = std::min(kPiece, opened.tokens().size() - i);
      ids.clear();
      for (std::int64_t t = 0; t < count; ++t) {
        ids.push_back(static_cast<std::int32_t>(std::min<std::int64_t>(opened.tokens()[i + t], INT32_MAX)));
      }
      take(file, i, std::span<const std::int32_t>(ids));
    }
  }
}

}  // namespace

DataCut cut_of(std::int64_t size, double fraction) {
  return {size - static_cast<std::int64_t>(std::floor(static_cast<double>(size) * fraction))};
}

DocumentWriter::DocumentWriter(const std::filesystem::path& path, const Tokenizer& tokenizer, std::uint64_t key, bool mask_prompt)
    : tokenizer_(tokenizer), shard_(path, tokenizer, key), mask_prompt_(mask_prompt) {
  end_ = tokenizer.frame().after;
  const auto end = tokenizer.end_of_text();
  if (end && (end_.empty() || end_.back() != *end)) end_.push_back(*end);
}

void DocumentWriter::add(const Document& document, bool whole) {
  shard_.begin_document();
  const bool prompt_is_target = document.prompt.empty() || !mask_prompt_;
  shard_.add(tokenizer_.frame().before, prompt_is_target);
  encode(document.prompt, prompt_is_target, document);
  encode(document.text, true, document);
  if (whole) shard_.add(end_);
}

void DocumentWriter::encode(std::string_view text, bool target, const Document& document) {
  if (text.empty()) return;
  try {
    tokenizer_.encode_to(text, [&](std::span<const std::int32_t> ids) { shard_.add(ids, target); });
  } catch (const UserError& error) {
    throw UserError(fmt::format("{}: {}", document.where(), error.what()));
  }
}

DataExtent survey_text(TextSource& source, TokenizerLearner* learner) {
  DataExtent extent;
  ContentHash hash;
  source.read([&](const Document& document) {
    extent.size += static_cast<std::int64_t>(document.bytes());
    hash.add(document.prompt);
    hash.add(document.text);
    if (learner == nullptr) return;
    learner->add(document.prompt);
    learner->add(document.text);
  });
  extent.hash = hash.digest();
  return extent;
}

void encode_text_split(TextSource& source, const DataCut& cut, DocumentWriter* train, DocumentWriter* validation) {
  std::int64_t begin = 0;
  source.read([&](const Document& document) {
    const auto size = static_cast<std::int64_t>(document.bytes());
    auto part = static_cast<std::size_t>(cut.train_part(begin, size));
    if (document.line == 0) {
      part = character_start(document.text, part);
    } else if (part < document.bytes()) {
      part = begin == 0 ? document.bytes() : 0;
    }
    begin += size;
    const bool whole = part == document.bytes();
    if (whole && train != nullptr) train->add(document, true);
    if (!whole && part > 0 && train != nullptr) train->add({{}, document.text.substr(0, part), document.path, 0}, false);
    if (whole || validation == nullptr) return;
    validation->add(part == 0 ? document : Document{{}, document.text.substr(part), document.path, 0}, true);
  });
}

void encode_text(TextSource& source, DocumentWriter& writer) {
  source.read([&](const Document& document) { writer.add(document, true); });
}

DataExtent survey_tokens(const std::vector<DataFile>& files, const std::filesystem::path& spool, const Tokenizer& tokenizer) {
  DataExtent extent;
  ContentHash hash;
  read_token_files(files, spool, [&](const DataFile& file, std::int64_t first, std::span<const std::int32_t> ids) {
    const auto outside = std::find_if(ids.begin(), ids.end(), [&](std::int32_t id) { return id >= tokenizer.vocab_size(); });
    if (outside != ids.end()) {
      throw UserError(fmt::format("{}: token {} is {}, but the tokenizer has {} tokens; give the tokenizer that the file was made with",
                                  file.path, first + (outside - ids.begin()), *outside, tokenizer.vocab_size()));
    }
    extent.size += static_cast<std::int64_t>(ids.size());
    hash.add(static_cast<std::uint64_t>(file.format));
    hash.add(std::as_bytes(ids));
  });
  extent.hash = hash.digest();
  return extent;
}

void TokenCopier::add(DataFormat format, std::span<const std::int32_t> ids) {
  while (end_ && !ids.empty()) {
    const bool leads = format == DataFormat::llm_c;
    const auto found = std::find(ids.begin() + (leads && ids.front() == *end_ ? 1 : 0), ids.end(), *end_);
    if (leads && ids.front() == *end_) shard_.begin_document();
    if (found == ids.end()) break;
    const auto count = static_cast<std::size_t>(found - ids.begin()) + (leads ? 0 : 1);
    shard_.add(ids.first(count));
    ids = ids.subspan(count);
    shard_.begin_document();
  }
  shard_.add(ids);
}

void encode_token_split(const std::vector<DataFile>& files, const std::filesystem::path& spool, const DataCut& cut, TokenCopier* train,
                        TokenCopier* validation) {
  std::int64_t begin = 0;
  read_token_files(files, spool, [&](const DataFile& file, std::int64_t, std::span<const std::int32_t> ids) {
    const auto part = static_cast<std::size_t>(cut.train_part(begin, static_cast<std::int64_t>(ids.size())));
    begin += static_cast<std::int64_t>(ids.size());
    if (train != nullptr) train->add(file.format, ids.first(part));
    if (validation != nullptr) validation->add(file.format, ids.subspan(part));
  });
}

}  // namespace reprise

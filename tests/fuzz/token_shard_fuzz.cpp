// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either a token shard, all of whose tokens and documents can be touched, or a UserError.
// Built with -fsanitize=fuzzer it is a libFuzzer program; the unit tests replay a corpus made in code through it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "base/error.h"
#include "train/document_packing.h"
#include "train/token_shards.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint64_t> aligned((size + 7) / 8);  // as a mapped file is
  if (size > 0) std::memcpy(aligned.data(), data, size);
  try {
    const reprise::ShardParts parts = reprise::parse_shard(std::as_bytes(std::span(aligned)).first(size), "input");
    std::int64_t targets = 0;
    for (std::int64_t i = 0; i < parts.tokens.size(); ++i) {
      if (parts.tokens[i] < 0) std::abort();
      targets += parts.tokens.is_target(i) ? 1 : 0;
    }
    const reprise::DocumentPacking packing(parts.documents, parts.tokens.size(), 3);
    std::int64_t kept = 0;
    for (std::int64_t row = 0; row < packing.row_count(); ++row) kept += packing.kept_targets(row, parts.tokens);
    if (kept > targets) std::abort();
  } catch (const reprise::UserError&) {
  }
  return 0;
}

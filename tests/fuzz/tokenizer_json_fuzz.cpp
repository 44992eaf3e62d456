// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either a tokenizer.json, whose tokenizer encodes, decodes and is written again alike, or a
// UserError. Built with -fsanitize=fuzzer it is a libFuzzer program; the unit tests replay a corpus made in code through it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto tokenizer = reprise::parse_tokenizer({reinterpret_cast<const char*>(data), size}, "input");
    const std::string json = tokenizer->to_json();
    if (reprise::parse_tokenizer(json, "written")->to_json() != json) std::abort();
    const auto ids = tokenizer->encode("ab ab");
    if (tokenizer->decode(ids) != "ab ab") std::abort();
  } catch (const reprise::UserError&) {
  }
  return 0;
}

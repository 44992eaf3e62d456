// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either a tokenizer.json, whose tokenizer encodes text, decodes its ids the same at once and token by
// token, and is written again alike, or a UserError. Built with -fsanitize=fuzzer it is a libFuzzer program; the unit tests replay
// a corpus made in code through it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto tokenizer = reprise::parse_tokenizer({reinterpret_cast<const char*>(data), size}, "input");
    const std::string json = tokenizer->to_json();
    const auto again = reprise::parse_tokenizer(json, "written");
    if (again->to_json() != json || again->vocab_size() != tokenizer->vocab_size()) std::abort();
    for (const std::string_view text : {"ab ab", "x ab_12's e\u0301\n x", "", "\xFF\u4F60"}) {
      try {
        const auto ids = tokenizer->encode_framed(text);
        if (again->encode_framed(text) != ids) std::abort();
        reprise::StreamDecoder decoder(*tokenizer);
        std::string streamed;
        for (const std::int32_t id : ids) streamed += decoder.push(id);
        if (streamed + decoder.finish() != tokenizer->decode(ids)) std::abort();
      } catch (const reprise::UserError&) {  // a part of the text has no token
      }
    }
  } catch (const reprise::UserError&) {
  }
  return 0;
}

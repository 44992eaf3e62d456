// SPDX-License-Identifier: Apache-2.0
// The post_processor of a tokenizer.json: the tokens that go around a text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json.h"

namespace reprise {

/// Tokens in front of a text and behind it.
struct TextFrame {
  std::vector<std::int32_t> before;
  std::vector<std::int32_t> after;

  friend bool operator==(const TextFrame&, const TextFrame&) = default;
};

/// Reads the component: null, ByteLevel (which moves offsets only), TemplateProcessing with one sequence, or a Sequence of them.
/// UserError, starting with `where`, for any other.
TextFrame read_text_frame(const Json& component, const std::string& where);

/// Returns a component that puts `frame` around a text; `token_text` gives a token's text. Null for an empty frame.
Json write_text_frame(const TextFrame& frame, const std::function<std::string(std::int32_t)>& token_text);

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// A token goes through the steps in order; only a run of byte tokens waits for its end, since it is text as a whole or not at all.
#include "tokenizer/token_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/tokenizer_component.h"
#include "tokenizer/utf8.h"

namespace reprise {

namespace {

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return std::nullopt;
}

/// Returns the byte that a token <0xHH> stands for.
std::optional<char> byte_of(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  const auto high = hex_digit(token[3]);
  const auto low = hex_digit(token[4]);
  if (!high || !low) return std::nullopt;
  return static_cast<char>(static_cast<std::uint8_t>(*high * 16 + *low));
}

bool is_utf8(std::string_view text) {
  for (std::size_t position = 0; position < text.size();) {
    const Utf8Step step = read_utf8(text, position);
    if (!step.valid) return false;
    position += step.length;
  }
  return true;
}

}  // namespace

TokenDecoder::TokenDecoder(const Json& component, const std::string& where) {
  if (component.is_null()) steps_.push_back({.kind = Kind::spaces, .pattern = {}, .content = {}});
  bool fused = false;
  for (const JsonView& view : component_list(component, where, "decoders")) {
    const std::string type = component_type(view);
    if (fused && type != "Fuse" && type != "Strip") view.fail(fmt::format("type \"{}\" behind a Fuse or ByteLevel is not supported", type));
    Step step{.kind = Kind::replace, .pattern = {}, .content = {}, .fused = fused};
    if (type == "ByteLevel") {
      require_known_keys(view, {"add_prefix_space", "use_regex", "trim_offsets"});
      step.kind = Kind::byte_level;
      fused = true;
    } else if (type == "ByteFallback") {
      require_known_keys(view, {});
      step.kind = Kind::byte_fallback;
      for (const Step& other : steps_) {
        if (other.kind == Kind::byte_fallback) view.fail("a second ByteFallback is not supported");
      }
    } else if (type == "Fuse") {
      require_known_keys(view, {});
      fused = true;
      continue;
    } else if (type == "Metaspace") {
      require_known_keys(view, {"replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"});
      step.kind = Kind::metaspace;
      append_utf8(step.pattern, component_character(view, "replacement"));
      const auto scheme = view.find("prepend_scheme");
      step.drops_first = scheme ? scheme->string() != "never" : boolean_or(view, "add_prefix_space", true);
    } else if (type == "Replace") {
      require_known_keys(view, {"pattern", "content"});
      const JsonView pattern = view.at("pattern");
      require_known_keys(pattern, {"String"});
      step.pattern = pattern.at("String").string();
      if (step.pattern.empty()) pattern.at("String").fail("must not be empty");
      step.content = view.at("content").string();
    } else if (type == "Strip") {
      require_known_keys(view, {"content", "start", "stop"});
      step.kind = Kind::strip;
      append_utf8(step.pattern, component_character(view, "content"));
      const std::int64_t start = view.at("start").integer();
      if (start < 0 || view.at("stop").integer() != 0) view.fail("Strip at the end is not supported, at the start it needs a count");
      step.count = static_cast<std::size_t>(start);
    } else {
      refuse_type(view, {"ByteFallback", "ByteLevel", "Fuse", "Metaspace", "Replace", "Sequence", "Strip"});
    }
    steps_.push_back(std::move(step));
  }
}

void TokenDecoder::push(State& state, std::string_view token, std::string& bytes) const {
  state.steps.resize(steps_.size());
  run(state, 0, token, bytes);
}

void TokenDecoder::run(State& state, std::size_t index, std::string_view text, std::string& bytes) const {
  if (index == steps_.size()) {
    bytes += text;
    return;
  }
  const Step& step = steps_[index];
  State::OfStep& own = state.steps[index];
  const bool first = !std::exchange(own.began, true);
  switch (step.kind) {
    case Kind::spaces:
      if (!first) bytes += ' ';
      return run(state, index + 1, text, bytes);
    case Kind::byte_level: {
      const auto mapped = from_byte_alphabet(text);
      return run(state, index + 1, mapped ? *mapped : text, bytes);
    }
    case Kind::byte_fallback: {
      if (const auto byte = byte_of(text)) {
        state.held += *byte;
        return;
      }
      release(state, index, bytes);
      return run(state, index + 1, text, bytes);
    }
    case Kind::metaspace:
    case Kind::replace: {
      const bool drops = step.kind == Kind::metaspace && step.drops_first && first;
      const std::string_view content = step.kind == Kind::replace ? std::string_view(step.content) : drops ? "" : " ";
      std::string result;
      for (std::size_t position = 0;;) {
        const std::size_t found = text.find(step.pattern, position);
        result += text.substr(position, found == std::string_view::npos ? found : found - position);
        if (found == std::string_view::npos) break;
        result += content;
        position = found + step.pattern.size();
      }
      return run(state, index + 1, result, bytes);
    }
    case Kind::strip: {
      std::size_t& left = own.may_strip;
      if (first || !step.fused) left = step.count;
      while (left > 0 && text.starts_with(step.pattern)) {
        text.remove_prefix(step.pattern.size());
        --left;
      }
      if (!text.empty()) left = 0;
      return run(state, index + 1, text, bytes);
    }
  }
}

void TokenDecoder::release(State& state, std::size_t index, std::string& bytes) const {
  if (state.held.empty()) return;
  const std::string held = std::exchange(state.held, {});
  if (is_utf8(held)) return run(state, index + 1, held, bytes);
  for (std::size_t i = 0; i < held.size(); ++i) run(state, index + 1, kReplacementCharacter, bytes);
}

void TokenDecoder::finish(State& state, std::string& bytes) const {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].kind == Kind::byte_fallback) release(state, i, bytes);
  }
  state = {};
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Each step cuts what the step before it gave out. A ByteLevel writes bytes in the byte alphabet only for steps behind it to see;
// words leave as plain bytes.
#include "tokenizer/pre_tokenizer.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/tokenizer_component.h"
#include "tokenizer/unicode_classes.h"
#include "tokenizer/utf8.h"
#include "tokenizer/word_patterns.h"

namespace reprise {

namespace {

constexpr std::size_t npos = std::string_view::npos;
constexpr Regex::Match kNoMatch{npos, npos};

/// Finds single characters of a class.
template <class Class>
auto find_character(const Class& is_inside) {
  return [is_inside](std::string_view text, std::size_t from) {
    for (std::size_t position = from; position < text.size();) {
      const Utf8Step step = read_utf8(text, position);
      if (step.valid && is_inside(step.code_point)) return Regex::Match{position, position + step.length};
      position += step.length;
    }
    return kNoMatch;
  };
}

template <std::size_t (*word_end)(std::string_view, std::size_t)>
Regex::Match find_word(std::string_view text, std::size_t from) {
  return from < text.size() ? Regex::Match{from, word_end(text, from)} : kNoMatch;
}

bool is_punctuation(char32_t c) {
  const bool ascii = (c >= 0x21 && c <= 0x2F) || (c >= 0x3A && c <= 0x40) || (c >= 0x5B && c <= 0x60) || (c >= 0x7B && c <= 0x7E);
  return ascii || is_unicode_punctuation(c);
}

}  // namespace

PreTokenizer::PreTokenizer(const Json& component, const std::string& where) {
  for (const JsonView& step : component_list(component, where, "pretokenizers")) add_step(step);
}

PreTokenizer::Split::Find PreTokenizer::find_of_pattern(const JsonView& pattern) {
  require_known_keys(pattern, {"String", "Regex"});
  if (const auto literal = pattern.find("String")) {
    if (literal->string().empty()) literal->fail("must not be empty");
    return [text_of = literal->string()](std::string_view text, std::size_t from) {
      const std::size_t found = text.find(text_of, from);
      return found == npos ? kNoMatch : Regex::Match{found, found + text_of.size()};
    };
  }
  const JsonView regex = pattern.at("Regex");
  if (regex.string() == kGpt2Pattern) return find_word<gpt2_word_end>;
  if (regex.string() == kLlama3Pattern) return find_word<llama3_word_end>;
  if (regex.string() == kQwen2Pattern) return find_word<qwen2_word_end>;
  try {
    return [compiled = std::make_shared<const Regex>(regex.string())](std::string_view text, std::size_t from) {
      return compiled->find(text, from).value_or(kNoMatch);
    };
  } catch (const UserError& error) {
    regex.fail(error.what());
  }
}

PreTokenizer::Split::Behavior PreTokenizer::behavior_of(const JsonView& component) {
  const JsonView behavior = component.at("behavior");
  const std::string& name = behavior.string();
  if (name == "Isolated") return Split::Behavior::isolated;
  if (name == "Removed") return Split::Behavior::removed;
  if (name == "Contiguous") return Split::Behavior::contiguous;
  if (name == "MergedWithPrevious") return Split::Behavior::merged_with_previous;
  if (name == "MergedWithNext") return Split::Behavior::merged_with_next;
  behavior.fail(fmt::format("\"{}\" is not known; use Isolated, Removed, Contiguous, MergedWithPrevious or MergedWithNext", name));
}

void PreTokenizer::add_step(const JsonView& component) {
  const std::string type = component_type(component);
  if (byte_level_ && (type == "ByteLevel" || type == "Metaspace")) {
    component.fail(fmt::format("type \"{}\" behind a ByteLevel is not supported", type));
  }
  if (type == "ByteLevel") {
    require_known_keys(component, {"add_prefix_space", "use_regex", "trim_offsets"});  // offsets are not ours
    steps_.push_back(ByteLevel{boolean_or(component, "add_prefix_space", true), boolean_or(component, "use_regex", true)});
    byte_level_ = true;
  } else if (type == "Digits") {
    require_known_keys(component, {"individual_digits"});
    const bool single = boolean_or(component, "individual_digits", false);
    steps_.push_back(Split{find_character(is_unicode_number), single ? Split::Behavior::isolated : Split::Behavior::contiguous, false});
  } else if (type == "Punctuation") {
    require_known_keys(component, {"behavior"});
    steps_.push_back(Split{find_character(is_punctuation), behavior_of(component), false});
  } else if (type == "Split") {
    require_known_keys(component, {"pattern", "behavior", "invert"});
    steps_.push_back(Split{find_of_pattern(component.at("pattern")), behavior_of(component), boolean_or(component, "invert", false)});
  } else if (type == "Metaspace") {
    require_known_keys(component, {"replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"});
    Metaspace metaspace;
    append_utf8(metaspace.replacement, component_character(component, "replacement"));
    // Files of before the scheme have add_prefix_space instead.
    const auto scheme = component.find("prepend_scheme");
    const std::string name = scheme ? scheme->string() : boolean_or(component, "add_prefix_space", true) ? "always" : "never";
    if (name == "always") metaspace.prepend = Metaspace::Prepend::always;
    else if (name == "first") metaspace.prepend = Metaspace::Prepend::first;
    else if (name == "never") metaspace.prepend = Metaspace::Prepend::never;
    else scheme->fail(fmt::format("\"{}\" is not known; use always, first or never", name));
    metaspace.split = boolean_or(component, "split", true);
    steps_.push_back(metaspace);
  } else {
    refuse_type(component, {"ByteLevel", "Digits", "Metaspace", "Punctuation", "Sequence", "Split"});
  }
}

void PreTokenizer::cut(std::string_view text, bool at_start, const WordSink& sink) const { run(0, text, at_start, false, sink); }

void PreTokenizer::run(std::size_t step, std::string_view text, bool at_start, bool in_byte_alphabet, const WordSink& sink) const {
  if (text.empty()) return;
  if (step == steps_.size()) {
    if (in_byte_alphabet) {
      sink(*from_byte_alphabet(text));
    } else {
      sink(text);
    }
    return;
  }
  const auto next = [&](std::string_view piece, bool piece_at_start, bool mapped) {
    run(step + 1, piece, piece_at_start, mapped, sink);
  };
  if (const auto* split = std::get_if<Split>(&steps_[step])) {
    run_split(*split, text, [&](std::string_view piece, bool first) { next(piece, at_start && first, in_byte_alphabet); });
  } else if (const auto* metaspace = std::get_if<Metaspace>(&steps_[step])) {
    const std::string& mark = metaspace->replacement;
    std::string marked;
    marked.reserve(text.size() + text.size() / 2);
    for (const char c : text) {
      if (c == ' ') marked += mark;
      else marked += c;
    }
    const bool prepend = metaspace->prepend == Metaspace::Prepend::always || (metaspace->prepend == Metaspace::Prepend::first && at_start);
    if (prepend && !marked.starts_with(mark)) marked.insert(0, mark);
    if (!metaspace->split) return next(marked, at_start, in_byte_alphabet);
    for (std::size_t begin = 0; begin < marked.size();) {
      const std::size_t end = std::min(marked.find(mark, begin + 1), marked.size());
      next(std::string_view(marked).substr(begin, end - begin), at_start && begin == 0, in_byte_alphabet);
      begin = end;
    }
  } else {
    const auto& byte_level = std::get<ByteLevel>(steps_[step]);
    std::string prefixed;
    if (byte_level.add_prefix_space && text[0] != ' ') {
      prefixed = " ";
      prefixed += text;
      text = prefixed;
    }
    const bool map = step + 1 < steps_.size();
    const auto give = [&](std::string_view word, bool first) {
      if (map) next(to_byte_alphabet(word), at_start && first, true);
      else next(word, at_start && first, false);
    };
    if (!byte_level.use_regex) return give(text, true);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = gpt2_word_end(text, begin);
      give(text.substr(begin, end - begin), begin == 0);
      begin = end;
    }
  }
}

void PreTokenizer::run_split(const Split& split, std::string_view text, const std::function<void(std::string_view, bool)>& sink) const {
  using Behavior = Split::Behavior;
  std::size_t begin = 0;  // of the piece being put together
  std::size_t end = 0;
  bool previous_match = false;
  const auto give = [&] {
    if (begin < end) sink(text.substr(begin, end - begin), begin == 0);
  };
  // `to` ends a stretch of the text that is a match, or lies between matches.
  const auto stretch = [&](std::size_t to, bool match) {
    bool joins = false;
    switch (split.behavior) {
      case Behavior::isolated:
      case Behavior::removed: break;
      case Behavior::contiguous: joins = match == previous_match; break;
      case Behavior::merged_with_previous: joins = match && !previous_match; break;
      case Behavior::merged_with_next: joins = !match && previous_match; break;
    }
    if (!joins) {
      give();
      begin = end;
    }
    end = to;
    if (split.behavior == Behavior::removed && match) begin = end;
    previous_match = match;
  };
  for (std::size_t position = 0; position < text.size();) {
    Regex::Match match = split.find(text, position);
    if (match.begin == npos) match = {text.size(), text.size()};
    if (match.begin > position) stretch(match.begin, split.invert);
    if (match.end > match.begin) stretch(match.end, !split.invert);
    position = match.end;
  }
  give();
}

}  // namespace reprise

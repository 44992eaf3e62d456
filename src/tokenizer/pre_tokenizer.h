// SPDX-License-Identifier: Apache-2.0
// The pre_tokenizer of a tokenizer.json: cuts text into words inside which pairs are merged, never across.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/json.h"
#include "tokenizer/regex.h"

namespace reprise {

/// Takes the words of a text, in order. Each is valid during the call.
using WordSink = std::function<void(std::string_view)>;

class PreTokenizer {
 public:
  /// Reads the component: null, ByteLevel, Digits, Metaspace, Punctuation, Split, or a Sequence of them. UserError, starting with
  /// `where`, for any other, and for ones that change what a word's bytes stand for behind a ByteLevel.
  PreTokenizer(const Json& component, const std::string& where);

  /// Says whether there is a ByteLevel: words are then bytes, else text.
  bool byte_level() const { return byte_level_; }
  /// Says whether a text is one word always.
  bool keeps_text_whole() const { return steps_.empty(); }

  /// Gives the words of `text` to `sink`. `at_start`: nothing stands before it in the whole text.
  void cut(std::string_view text, bool at_start, const WordSink& sink) const;

 private:
  struct ByteLevel {
    bool add_prefix_space;
    bool use_regex;
  };
  struct Metaspace {
    enum class Prepend { always, first, never };
    std::string replacement;
    Prepend prepend = Prepend::always;
    bool split = true;
  };
  struct Split {
    enum class Behavior { isolated, removed, contiguous, merged_with_previous, merged_with_next };
    /// Returns the first match at or behind a place that is not empty; {npos, npos} when there is none.
    using Find = std::function<Regex::Match(std::string_view, std::size_t)>;
    Find find;
    Behavior behavior;
    bool invert;
  };
  using Step = std::variant<ByteLevel, Metaspace, Split>;

  static Split::Find find_of_pattern(const class JsonView& pattern);
  static Split::Behavior behavior_of(const class JsonView& component);
  void add_step(const class JsonView& component);

  void run(std::size_t step, std::string_view text, bool at_start, bool in_byte_alphabet, const WordSink& sink) const;
  void run_split(const Split& split, std::string_view text, const std::function<void(std::string_view, bool)>& sink) const;

  std::vector<Step> steps_;
  bool byte_level_ = false;
};

}  // namespace reprise

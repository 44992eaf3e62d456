// SPDX-License-Identifier: Apache-2.0
// The decoder of a tokenizer.json: from the tokens' texts to text, token by token.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "io/json.h"

namespace reprise {

class TokenDecoder {
 public:
  /// Reads the component: ByteLevel, ByteFallback, Fuse, Metaspace, Replace of a string, Strip at the start, or a Sequence of them;
  /// null joins the tokens with spaces. UserError, starting with `where`, for any other, and for ones behind a Fuse or ByteLevel
  /// that would have to see across tokens.
  TokenDecoder(const Json& component, const std::string& where);

  /// What one decoding remembers between tokens.
  struct State {
    struct OfStep {
      bool began = false;         // something has come to it
      std::size_t may_strip = 0;  // characters that Strip may still take from the token it is in
    };
    std::string held;             // bytes of a run of byte tokens
    std::vector<OfStep> steps;
  };

  /// Appends the bytes that `token` adds to the text. They may end inside a character, and be no UTF-8.
  void push(State& state, std::string_view token, std::string& bytes) const;
  /// Appends what was held back; the state is as new.
  void finish(State& state, std::string& bytes) const;

 private:
  enum class Kind { byte_level, byte_fallback, metaspace, replace, strip, spaces };
  struct Step {
    Kind kind;
    std::string pattern;     // metaspace, replace, strip
    std::string content;     // replace
    std::size_t count = 0;   // strip
    bool drops_first = false;  // metaspace: marks of the first token vanish
    bool fused = false;        // behind a Fuse: all that comes is one token
  };

  void run(State& state, std::size_t step, std::string_view text, std::string& bytes) const;
  void release(State& state, std::size_t step, std::string& bytes) const;

  std::vector<Step> steps_;
};

}  // namespace reprise

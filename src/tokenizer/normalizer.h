// SPDX-License-Identifier: Apache-2.0
// The normalizer of a tokenizer.json: text is rewritten by it before it is cut into words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/json.h"

namespace reprise {

class Normalizer {
 public:
  /// Reads the component: null, NFC, Prepend, Replace of a string, or a Sequence of them. UserError, starting with `where`, for
  /// any other.
  Normalizer(const Json& component, const std::string& where);

  /// Returns `text` normalized: itself when nothing changes, else a view of `storage`.
  std::string_view apply(std::string_view text, std::string& storage) const;

 private:
  enum class Kind { nfc, prepend, replace };
  struct Step {
    Kind kind;
    std::string pattern;  // replace
    std::string content;  // prepend, replace
  };

  std::vector<Step> steps_;
};

}  // namespace reprise

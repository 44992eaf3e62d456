// SPDX-License-Identifier: Apache-2.0
// Added tokens: found whole in the text before it is cut into words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace reprise {

struct AddedToken {
  std::int32_t id = 0;
  std::string content;
  bool single_word = false;  // only where no word character (\w) stands beside it
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space behind it
  bool normalized = false;   // looked for in the normalized text
  bool special = false;      // controls the model rather than writes text

  friend bool operator==(const AddedToken&, const AddedToken&) = default;
};

/// Finds tokens in a text: from left to right, the longest of those that start at a place.
class AddedTokenFinder {
 public:
  /// A token and how it is written in the texts to be searched; those written empty are never found.
  void add(const AddedToken& token, std::string written);

  /// Cuts `text`: gives `on_text` every stretch between finds (never empty) with its place, and `on_token` every find, in order.
  void cut(std::string_view text, const std::function<void(std::string_view, std::size_t)>& on_text,
           const std::function<void(std::int32_t)>& on_token) const;

 private:
  struct Pattern {
    AddedToken token;
    std::size_t length;
  };

  const Pattern* longest_at(std::string_view text, std::size_t position) const;

  std::vector<Pattern> patterns_;
  // A trie over bytes: node 0 is the root; the key of an edge is node * 256 + byte.
  std::unordered_map<std::uint64_t, std::size_t> edges_;
  std::vector<std::size_t> ends_ = {kNoPattern};  // by node: the pattern that ends there
  bool starts_[256] = {};

  static constexpr std::size_t kNoPattern = static_cast<std::size_t>(-1);
};

}  // namespace reprise

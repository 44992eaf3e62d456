// SPDX-License-Identifier: Apache-2.0
// A small text with words worth learning.
#pragma once

#include <string>
#include <string_view>

namespace reprise::test {

/// Returns `lines` numbered lines of simple sentences, ASCII.
inline std::string sample_text(int lines) {
  constexpr std::string_view kWho[] = {"the cat", "a dog", "the old man", "a bird", "my friend"};
  constexpr std::string_view kDoes[] = {"sees", "finds", "likes", "paints", "follows"};
  constexpr std::string_view kWhat[] = {"the red house", "a small stone", "the sea", "a long road", "the moon"};
  std::string text;
  for (int i = 0; i < lines; ++i) {
    text += std::string(kWho[i % 5]) + ' ' + std::string(kDoes[(i / 2) % 5]) + ' ' + std::string(kWhat[(i / 3) % 5]) + ".\n";
  }
  return text;
}

}  // namespace reprise::test

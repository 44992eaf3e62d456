// SPDX-License-Identifier: Apache-2.0
#include "base/shown_text.h"

#include <fmt/format.h>

namespace reprise {

std::string shown_text(std::string_view text, std::size_t most) {
  std::size_t end = text.size();
  if (end > most) {
    end = most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // bytes 10xxxxxx continue a character
  }
  std::string shown;
  for (const char c : text.substr(0, end)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) shown += fmt::format("\\x{:02x}", byte);
    else shown += c;
  }
  if (end < text.size()) shown += "...";
  return shown;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

}  // namespace reprise

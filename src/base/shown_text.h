// SPDX-License-Identifier: Apache-2.0
// Text of a file or a command line as an error shows it: what it holds does not reach the terminal, and its length is bounded.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reprise {

/// Returns `text` with control bytes as \xNN; of a text longer than `most` bytes the start, cut between characters, and "...".
std::string shown_text(std::string_view text, std::size_t most = 80);

/// Returns `text` without the byte order mark that some editors put in front of UTF-8.
std::string_view without_byte_order_mark(std::string_view text);

}  // namespace reprise

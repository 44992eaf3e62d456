// SPDX-License-Identifier: Apache-2.0
// Patterns of names.
#pragma once

#include <string_view>

namespace reprise {

/// Whether the whole of `text` matches `pattern`: '*' stands for any characters, '?' for one. Linear in text per star.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace reprise

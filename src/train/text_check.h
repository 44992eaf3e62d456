// SPDX-License-Identifier: Apache-2.0
// Whether bytes are text: UTF-8 without zero bytes, and a few faults forgiven.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reprise {

/// UserError when `text` holds a zero byte. `offset` is where it starts in the file.
void refuse_zero_bytes(std::string_view text, const std::string& path, std::uint64_t offset = 0);

/// Returns how many bytes of a whole file are not UTF-8. UserError, with path and offset, when it is empty, holds a zero byte,
/// or when more than one byte in a hundred is not UTF-8.
std::size_t check_text(std::string_view text, const std::string& path);

/// Whether check_text would not refuse a file that starts so. The last character may be cut.
bool starts_as_text(std::string_view text);

}  // namespace reprise

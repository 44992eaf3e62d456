// SPDX-License-Identifier: Apache-2.0
// What the operating system says of a file, turned into an error that names the path and what to do.
// Every file of this folder reports through here, so one cause has one wording.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace reprise {

/// Returns "cannot ACTION PATH: REASON; ADVICE" for the errno value `code`; `action` is "read", "write", "create", ...
std::string file_error_text(std::string_view action, const std::filesystem::path& path, int code);

/// Throws UserError with `file_error_text`.
[[noreturn]] void throw_file_error(std::string_view action, const std::filesystem::path& path, int code);

}  // namespace reprise

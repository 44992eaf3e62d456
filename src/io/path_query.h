// SPDX-License-Identifier: Apache-2.0
// Questions about paths, answered or refused with an error that names the path: "may not be looked at" is never taken for "is not there".
#pragma once

#include <cstdint>
#include <filesystem>

namespace reprise {

/// Whether something is at `path`, links followed. UserError when the system does not tell: no permission, links in a circle.
bool path_exists(const std::filesystem::path& path);

/// Whether a folder is at `path`; errors as `path_exists`.
bool is_folder(const std::filesystem::path& path);

/// Whether a regular file is at `path`; errors as `path_exists`.
bool is_plain_file(const std::filesystem::path& path);

/// Returns the size in bytes of the file at `path`. UserError when there is none.
std::uintmax_t file_bytes(const std::filesystem::path& path);

/// Returns `path` absolute and without links. UserError when nothing is there.
std::filesystem::path resolved_path(const std::filesystem::path& path);

/// Returns the folder for temporary files: what TMPDIR names, else /tmp. UserError when TMPDIR names no folder.
std::filesystem::path temporary_folder();

}  // namespace reprise

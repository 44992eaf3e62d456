// SPDX-License-Identifier: Apache-2.0
#include "io/path_query.h"

#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "io/file_error.h"

namespace reprise {
namespace {

std::filesystem::file_type type_of(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::status_known(status)) throw_file_error("read", path, error.value());
  return status.type();
}

}  // namespace

bool path_exists(const std::filesystem::path& path) { return type_of(path) != std::filesystem::file_type::not_found; }

bool is_folder(const std::filesystem::path& path) { return type_of(path) == std::filesystem::file_type::directory; }

bool is_plain_file(const std::filesystem::path& path) { return type_of(path) == std::filesystem::file_type::regular; }

std::uintmax_t file_bytes(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error) throw_file_error("read", path, error.value());
  return bytes;
}

std::filesystem::path resolved_path(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path resolved = std::filesystem::canonical(path, error);
  if (error) throw_file_error("read", path, error.value());
  return resolved;
}

std::filesystem::path temporary_folder() {
  const char* const named = std::getenv("TMPDIR");
  if (named == nullptr || *named == '\0') return "/tmp";
  if (!is_folder(named)) throw UserError(fmt::format("TMPDIR must name a folder, for what is kept for a while only: {}", named));
  return named;
}

}  // namespace reprise

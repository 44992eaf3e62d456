// SPDX-License-Identifier: Apache-2.0
#include "io/spool_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "io/directory.h"
#include "io/file_error.h"
#include "io/path_query.h"
#include "io/write_fault.h"

namespace reprise {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

}  // namespace

SpoolFile::SpoolFile(const std::filesystem::path& folder) : buffer_(kBufferBytes) {
  if (!folder.empty()) make_directories(folder);
  path_ = temporary_beside((folder.empty() ? temporary_folder() : folder) / "spool");
  const FileStepFault fault = check_write_fault({FileStep::open, path_});
  if (fault.error != 0) throw_file_error("write", path_, fault.error);
  fd_ = FileDescriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd_.valid()) throw_file_error("write", path_, errno);
  ::unlink(path_.c_str());
}

void SpoolFile::write(std::span<const std::byte> bytes) { buffer_.write(fd_.get(), bytes, path_); }

void SpoolFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

MappedFile SpoolFile::map() {
  buffer_.flush(fd_.get(), path_);
  MappedFile mapped = MappedFile::map(fd_.get(), path_, Access::sequential);
  fd_.close();
  return mapped;
}

}  // namespace reprise

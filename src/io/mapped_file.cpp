// SPDX-License-Identifier: Apache-2.0
#include "io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "io/file_descriptor.h"
#include "io/file_error.h"

namespace reprise {
namespace {

int advice_of(Access access) {
  switch (access) {
    case Access::normal: return MADV_NORMAL;
    case Access::sequential: return MADV_SEQUENTIAL;
    case Access::random: return MADV_RANDOM;
  }
  return MADV_NORMAL;
}

}  // namespace

MappedFile MappedFile::open(const std::filesystem::path& path, Access access) {
  // O_NONBLOCK: opening a pipe must not wait for a writer before it is refused.
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) throw_file_error("read", path, errno);
  return map(fd.get(), path, access);
}

MappedFile MappedFile::map(int fd, const std::filesystem::path& path, Access access) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw_file_error("read", path, errno);
  if (S_ISDIR(status.st_mode)) throw_file_error("read", path, EISDIR);
  if (!S_ISREG(status.st_mode)) {
    throw UserError("cannot read " + path.string() + ": it is not a regular file; copy its contents to a file first");
  }
  MappedFile file;
  file.path_ = path;
  if (status.st_size == 0) return file;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) throw_file_error("read", path, errno);
  file.data_ = static_cast<const std::byte*>(address);
  file.size_ = size;
  ::madvise(address, size, advice_of(access));  // a hint: failing changes nothing but speed
  return file;
}

MappedFile::~MappedFile() { unmap(); }

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    unmap();
    path_ = std::move(other.path_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void MappedFile::unmap() noexcept {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  data_ = nullptr;
  size_ = 0;
}

void MappedFile::release(std::span<const std::byte> range) const {
  if (range.empty()) return;
  const auto base = reinterpret_cast<std::uintptr_t>(data_);
  const auto first = reinterpret_cast<std::uintptr_t>(range.data());
  REPRISE_CHECK(first >= base && range.size() <= size_ && first - base <= size_ - range.size(),
                "released range is outside the mapping of " + path_.string());
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = (first + page - 1) / page * page;
  const std::uintptr_t end = (first + range.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace reprise

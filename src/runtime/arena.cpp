// SPDX-License-Identifier: Apache-2.0
#include "runtime/arena.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace reprise {
namespace {

std::string megabytes(double bytes) { return fmt::format("{:.1f} MB", bytes / 1e6); }

}  // namespace

void require_memory(std::int64_t needed, std::uint64_t available, const std::string& what, const std::string& suggestion) {
  if (needed <= 0 || static_cast<std::uint64_t>(needed) <= available) return;
  std::string text = fmt::format("not enough memory for {}: {} needed, {} available ({} and {} bytes)", what,
                                 megabytes(static_cast<double>(needed)), megabytes(static_cast<double>(available)), needed, available);
  if (!suggestion.empty()) text += "; this fits: " + suggestion;
  throw UserError(text);
}

Arena::Arena(std::int64_t bytes) : bytes_(bytes) {
  REPRISE_CHECK(bytes >= 0, "size of an arena");
  const auto page = static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  mapped_ = (bytes + page - 1) / page * page;
  const auto length = static_cast<std::size_t>(mapped_ + page);
  void* const mapping = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw DeviceError(fmt::format("cannot map an arena: {} bytes: {}", bytes, std::strerror(errno)));
  data_ = static_cast<std::byte*>(mapping);
  if (mprotect(data_ + mapped_, static_cast<std::size_t>(page), PROT_NONE) != 0) {
    const int code = errno;
    munmap(mapping, length);
    throw DeviceError(fmt::format("cannot protect the end of an arena: {}", std::strerror(code)));
  }
}

Arena::~Arena() { munmap(data_, static_cast<std::size_t>(mapped_ + sysconf(_SC_PAGESIZE))); }

void Arena::fill(std::byte pattern, std::int64_t from) {
  REPRISE_CHECK(from >= 0 && from <= mapped_, "start of a fill");
  std::memset(data_ + from, static_cast<int>(pattern), static_cast<std::size_t>(mapped_ - from));
}

std::int64_t Arena::high_water(std::byte pattern) const {
  std::int64_t end = mapped_;
  while (end > 0 && data_[end - 1] == pattern) --end;
  return end;
}

}  // namespace reprise

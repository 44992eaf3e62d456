// SPDX-License-Identifier: Apache-2.0
// Faults for tests: makes the steps of writing a file fail or fall short, as a full disk, a read-only folder or a
// slow device would. Nothing but tests sets one; without one the cost is a relaxed load per write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>

namespace reprise {

enum class FileStep { open, write, sync, rename };

/// What is about to happen: the step, the file, and for a write the bytes offered.
struct FileStepCall {
  FileStep step;
  const std::filesystem::path& path;
  std::size_t bytes = 0;
};

/// What shall happen: errno value `error` if not 0; else a write takes at most `limit` bytes.
struct FileStepFault {
  int error = 0;
  std::size_t limit = std::numeric_limits<std::size_t>::max();
};

using WriteFault = std::function<FileStepFault(const FileStepCall&)>;

/// Installs a fault for every thread of the process while it lives; the newest one acts. Calls are serialised.
class ScopedWriteFault {
 public:
  explicit ScopedWriteFault(WriteFault fault);
  ~ScopedWriteFault();
  ScopedWriteFault(const ScopedWriteFault&) = delete;
  ScopedWriteFault& operator=(const ScopedWriteFault&) = delete;
};

/// A disk that takes `bytes` more bytes, then answers every write with `error`.
WriteFault fail_after_bytes(std::uint64_t bytes, int error);
/// `step` always answers `error`.
WriteFault fail_step(FileStep step, int error);
/// Every write takes at most `limit` bytes, and every third is interrupted first.
WriteFault short_writes(std::size_t limit);

/// Asks the installed fault, if any, about `call`. Called by the writing code.
FileStepFault check_write_fault(const FileStepCall& call);

}  // namespace reprise

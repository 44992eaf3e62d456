// SPDX-License-Identifier: Apache-2.0
// One process at a time in a run directory. The lock is the kernel's (flock), so it ends with its holder, however that
// dies; the file's text only says who holds it.
#pragma once

#include <filesystem>

#include "io/file_descriptor.h"

namespace reprise {

class RunLock {
 public:
  /// Locks the existing folder `run`. UserError naming process and host when another holder lives.
  explicit RunLock(const std::filesystem::path& run);

 private:
  FileDescriptor fd_;
};

}  // namespace reprise

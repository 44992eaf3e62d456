// SPDX-License-Identifier: Apache-2.0
#include "io/file_descriptor.h"

#include <unistd.h>

namespace reprise {

void FileDescriptor::close() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

}  // namespace reprise

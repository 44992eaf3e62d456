// SPDX-License-Identifier: Apache-2.0
#include "io/write_fault.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

namespace reprise {
namespace {

// The stack of installed faults; `installed` lets the usual case skip the lock.
struct Faults {
  std::mutex mutex;
  std::vector<WriteFault> stack;
  std::atomic<bool> installed{false};
};

Faults& faults() {
  static Faults instance;
  return instance;
}

}  // namespace

ScopedWriteFault::ScopedWriteFault(WriteFault fault) {
  const std::lock_guard lock(faults().mutex);
  faults().stack.push_back(std::move(fault));
  faults().installed.store(true, std::memory_order_relaxed);
}

ScopedWriteFault::~ScopedWriteFault() {
  const std::lock_guard lock(faults().mutex);
  faults().stack.pop_back();
  faults().installed.store(!faults().stack.empty(), std::memory_order_relaxed);
}

FileStepFault check_write_fault(const FileStepCall& call) {
  if (!faults().installed.load(std::memory_order_relaxed)) return {};
  const std::lock_guard lock(faults().mutex);
  return faults().stack.empty() ? FileStepFault{} : faults().stack.back()(call);
}

WriteFault fail_after_bytes(std::uint64_t bytes, int error) {
  return [left = bytes, error](const FileStepCall& call) mutable -> FileStepFault {
    if (call.step != FileStep::write) return {};
    if (left == 0) return {error};
    const std::size_t taken = static_cast<std::size_t>(std::min<std::uint64_t>(left, call.bytes));
    left -= taken;
    return {0, taken};
  };
}

WriteFault fail_step(FileStep step, int error) {
  return [step, error](const FileStepCall& call) -> FileStepFault {
    if (call.step != step) return {};
    return {error};
  };
}

WriteFault short_writes(std::size_t limit) {
  return [limit, count = 0](const FileStepCall& call) mutable -> FileStepFault {
    if (call.step != FileStep::write) return {};
    if (++count % 3 == 0) return {EINTR};
    return {0, limit};
  };
}

}  // namespace reprise

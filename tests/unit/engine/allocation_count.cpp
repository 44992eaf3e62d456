// SPDX-License-Identifier: Apache-2.0
#include "unit/engine/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> allocations{0};
std::atomic<long> freed{0};

void release(void* memory) noexcept {
  if (memory != nullptr) ++freed;
  std::free(memory);
}
}  // namespace

long reprise::test::allocation_count() { return allocations.load(); }
long reprise::test::live_allocation_count() { return allocations.load() - freed.load(); }

void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
// Also the form that does not throw: sanitizers bring their own, which would not match the delete below.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }

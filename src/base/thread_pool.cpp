// SPDX-License-Identifier: Apache-2.0
// A generation counter starts the workers, a pending counter ends the call. Both sides spin, then yield for about two milliseconds, as long
// as a step's gaps between kernels last, and then park in the kernel (std::atomic::wait).
#include "base/thread_pool.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"

namespace reprise {
namespace {

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

/// Waits until `value` differs from `old`: by spinning, then parked. `spin` is false when threads outnumber cores.
std::uint32_t wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t old, bool spin) {
  if (spin) {
    for (int i = 0; i < 1000; ++i) {  // about 20 microseconds
      const std::uint32_t now = value.load(std::memory_order_acquire);
      if (now != old) return now;
      pause_briefly();
    }
    // From here on other runnable threads come first: on a busy machine the one waited for may be among them.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
    do {
      const std::uint32_t now = value.load(std::memory_order_acquire);
      if (now != old) return now;
      std::this_thread::yield();
    } while (std::chrono::steady_clock::now() < deadline);
  }
  for (;;) {
    const std::uint32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    value.wait(old, std::memory_order_acquire);
  }
}

}  // namespace

struct ThreadPool::State {
  int threads = 1;
  bool spin = true;
  alignas(64) std::atomic<std::uint32_t> generation{0};
  alignas(64) std::atomic<std::uint32_t> pending{0};
  std::size_t items = 0;
  Function function = nullptr;
  const void* context = nullptr;
  bool stopping = false;
  std::vector<std::exception_ptr> errors;  // one per thread, sized once
  std::vector<std::thread> workers;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  /// Ends the workers there are, which need not be all that were wanted.
  ~State() {
    stopping = true;
    generation.fetch_add(1, std::memory_order_acq_rel);
    generation.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

  void work(int thread) noexcept {
    const ItemRange range = static_range(items, thread, threads);
    if (range.begin == range.end) return;
    try {
      function(context, range.begin, range.end, thread);
    } catch (...) {
      errors[static_cast<std::size_t>(thread)] = std::current_exception();
    }
  }

  void wait_for_work(int thread) {
    std::uint32_t seen = 0;
    for (;;) {
      seen = wait_for_change(generation, seen, spin);
      if (stopping) return;
      work(thread);
      if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1) pending.notify_one();
    }
  }
};

namespace {

[[noreturn]] void throw_no_thread(int threads, const std::string& reason) {
  throw DeviceError(
      fmt::format("cannot start {} threads: {}; use fewer with --threads / ExecutionOptions::threads or raise the limit", threads, reason));
}

}  // namespace

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  REPRISE_CHECK(threads >= 1, "a thread pool has at least one thread");
  state_->threads = threads;
  state_->spin = static_cast<unsigned>(threads) <= std::thread::hardware_concurrency();
  try {
    state_->errors.resize(static_cast<std::size_t>(threads));
    state_->workers.reserve(static_cast<std::size_t>(threads - 1));
    for (int thread = 1; thread < threads; ++thread) {
      state_->workers.emplace_back([state = state_.get(), thread] { state->wait_for_work(thread); });
    }
  } catch (const std::system_error& refused) {
    throw_no_thread(threads, refused.code().message());
  } catch (const std::bad_alloc&) {
    throw_no_thread(threads, "not enough memory");
  }
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const { return state_->threads; }

void ThreadPool::run(std::size_t items, Function function, const void* context) {
  State& state = *state_;
  if (items == 0) return;
  if (state.threads == 1 || items == 1) {  // item 0 is thread 0's in any case
    function(context, 0, items, 0);
    return;
  }
  state.items = items;
  state.function = function;
  state.context = context;
  state.pending.store(static_cast<std::uint32_t>(state.threads - 1), std::memory_order_relaxed);
  state.generation.fetch_add(1, std::memory_order_acq_rel);
  state.generation.notify_all();
  state.work(0);
  for (std::uint32_t left = state.pending.load(std::memory_order_acquire); left != 0;) {
    left = wait_for_change(state.pending, left, state.spin);
  }
  for (std::exception_ptr& error : state.errors) {
    if (!error) continue;
    const std::exception_ptr first = error;
    for (std::exception_ptr& other : state.errors) other = nullptr;
    std::rethrow_exception(first);
  }
}

}  // namespace reprise

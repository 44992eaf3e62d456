// SPDX-License-Identifier: Apache-2.0
// The thread pool kernels run on: fixed thread ids, static contiguous ranges, no work stealing and no allocation per call, so that which
// thread does what depends on (items, threads) alone. The caller is thread 0.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace reprise {

/// What a caller may ask for; far more than any machine has.
constexpr int kMostThreads = 4096;

/// Items [begin, end) of one thread.
struct ItemRange {
  std::size_t begin, end;
};

/// The contiguous share of thread `thread` of `threads` in `items` items: sizes differ by at most one, the larger ones first.
constexpr ItemRange static_range(std::size_t items, int thread, int threads) {
  const auto n = static_cast<std::size_t>(threads);
  const auto id = static_cast<std::size_t>(thread);
  const std::size_t share = items / n;
  const std::size_t extra = items % n;
  const std::size_t begin = id * share + (id < extra ? id : extra);
  return {begin, begin + share + (id < extra ? 1 : 0)};
}

class ThreadPool {
 public:
  /// Starts threads - 1 workers. threads >= 1. DeviceError when the system does not give that many.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  /// Calls body(begin, end, thread) on every thread whose static range of `items` is not empty and returns when all have ended. The first
  /// exception, by thread number, is rethrown. Not reentrant: one caller at a time, and no call from inside a body.
  template <class Body>
  void parallel_for(std::size_t items, const Body& body) {
    static_assert(std::is_invocable_v<const Body&, std::size_t, std::size_t, int>);
    run(items, [](const void* context, std::size_t begin, std::size_t end, int thread) {
      (*static_cast<const Body*>(context))(begin, end, thread);
    }, &body);
  }

  /// Calls body(thread) once on every thread.
  template <class Body>
  void on_every_thread(const Body& body) {
    parallel_for(static_cast<std::size_t>(threads()), [&](std::size_t, std::size_t, int thread) { body(thread); });
  }

 private:
  using Function = void (*)(const void*, std::size_t, std::size_t, int);
  void run(std::size_t items, Function function, const void* context);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise

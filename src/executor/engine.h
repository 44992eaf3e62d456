// SPDX-License-Identifier: Apache-2.0
// The engine: one arena, and the programs that run in it one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/dtype_of.h"
#include "base/target.h"
#include "executor/compiled_trace.h"
#include "executor/program.h"
#include "runtime/arena.h"

namespace reprise {

/// A parameter or state: its type and where it lies, in bytes from the start of the arena.
struct Slot {
  std::string name;
  TensorType type;
  std::int64_t offset = 0;
  friend bool operator==(const Slot&, const Slot&) = default;
};

/// How an engine's memory is cut: persistent slots, then the larger of the programs' transients and of the session's
/// slots with the transients of its programs. Decided before anything is allocated.
struct EngineLayout {
  std::vector<Slot> persistent;
  std::vector<Slot> session;
  std::int64_t persistent_bytes = 0;
  std::int64_t session_bytes = 0;
  std::int64_t transient_bytes = 0;  // session slots included
  std::int64_t arena_bytes = 0;      // persistent and transient, with alignment
  std::int64_t library_bytes = 0;    // most that a library allocates beside the arena

  /// The predicted peak.
  std::int64_t peak_bytes() const { return arena_bytes + library_bytes; }
  friend bool operator==(const EngineLayout&, const EngineLayout&) = default;
};

/// Lays out the arena of these programs. InternalError when they disagree on a parameter's or state's type.
EngineLayout lay_out_engine(std::span<const CompiledTrace> programs);

struct EngineOptions {
  int threads = 1;
  Target target;
  ExecutorList executors;
  /// Bytes that may be taken; nothing: what the machine and its cgroup have left.
  std::optional<std::uint64_t> available_bytes;
  std::string what = "the step";    // for the refusal: what needs the memory
  std::string suggestion;           // a command that fits
};

class Engine {
 public:
  /// Refuses (UserError, before a page is touched) when the predicted peak is more than the available memory; then maps
  /// the arena and binds the programs. Everything persistent is zero.
  Engine(std::vector<CompiledTrace> programs, EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// The program called `name`; InternalError when there is none.
  Program& program(std::string_view name);
  bool has_program(std::string_view name) const;

  /// Parameters and states in order of first appearance, session states not among them.
  const std::vector<Slot>& slots() const { return layout_.persistent; }
  /// The slot called `name` (session states too), or null.
  const Slot* find_slot(std::string_view name) const;
  /// Bytes of a parameter or state; InternalError when there is none of this name.
  std::span<std::byte> bytes(std::string_view name);
  std::span<const std::byte> bytes(std::string_view name) const;
  /// The same as elements of T.
  template <class T>
  std::span<T> values(std::string_view name) {
    return elements_of<T>(bytes(name));
  }

  const EngineLayout& layout() const { return layout_; }
  std::int64_t predicted_peak_bytes() const { return layout_.peak_bytes(); }
  /// Highest arena byte that any kernel is given, by address.
  std::int64_t addressed_bytes() const;
  Arena& arena() { return arena_; }
  ThreadPool& pool() { return *pool_; }
  int threads() const { return options_.threads; }

 private:
  EngineOptions options_;
  std::vector<CompiledTrace> compiled_;
  EngineLayout layout_;
  std::unordered_map<std::string_view, const Slot*> slot_of_;  // by name, persistent and session
  Arena arena_;
  std::unique_ptr<ThreadPool> pool_;
  std::vector<std::unique_ptr<Program>> programs_;
};

}  // namespace reprise

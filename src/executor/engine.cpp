// SPDX-License-Identifier: Apache-2.0
#include "executor/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/thread_pool.h"
#include "memory/dependencies.h"
#include "memory/placement.h"

namespace reprise {
namespace {

/// Slots one behind the other, each name once.
class SlotList {
 public:
  /// Adds a slot behind the last, or checks that it is the one that is there. `value` outlives the list.
  void add(const Value& value) {
    const auto [found, fresh] = index_.try_emplace(value.name, slots_.size());
    if (fresh) return slots_.push_back({value.name, value.type, align_up(end())});
    const Slot& slot = slots_[found->second];
    REPRISE_CHECK(slot.type == value.type,
                  fmt::format("programs disagree on {}: {} and {}", value.name, slot.type.str(), value.type.str()));
  }
  bool has(std::string_view name) const { return index_.contains(name); }
  std::int64_t end() const { return slots_.empty() ? 0 : slots_.back().offset + slots_.back().type.bytes(); }
  std::vector<Slot> take() && { return std::move(slots_); }
  const std::vector<Slot>& slots() const { return slots_; }

 private:
  std::vector<Slot> slots_;
  std::unordered_map<std::string_view, std::size_t> index_;
};

EngineLayout refuse_or_lay_out(std::span<const CompiledTrace> programs, const EngineOptions& options) {
  EngineLayout layout = lay_out_engine(programs);
  const std::uint64_t available = options.available_bytes ? *options.available_bytes : available_memory_bytes();
  require_memory(layout.peak_bytes(), available, options.what, options.suggestion);
  return layout;
}

}  // namespace

EngineLayout lay_out_engine(std::span<const CompiledTrace> programs) {
  SlotList persistent;
  SlotList session;
  for (const CompiledTrace& program : programs) {
    const Trace& trace = program.claimed.trace;
    const std::unordered_set<std::string_view> of_session(program.session_states.begin(), program.session_states.end());
    for (const TraceInput& input : trace.inputs) {
      if (!is_persistent(input.role)) continue;
      const Value& value = trace[input.value];
      (of_session.contains(value.name) ? session : persistent).add(value);
    }
  }
  for (const Slot& slot : session.slots()) {
    REPRISE_CHECK(!persistent.has(slot.name), "a state of a session is persistent elsewhere: " + slot.name);
  }
  EngineLayout layout;
  layout.persistent_bytes = persistent.end();
  layout.session_bytes = session.end();
  layout.persistent = std::move(persistent).take();
  layout.session = std::move(session).take();
  for (const CompiledTrace& program : programs) {
    const std::int64_t own = program.plan.transient_bytes;
    const bool in_session = !program.session_states.empty();
    const std::int64_t base = in_session ? align_up(layout.session_bytes) : 0;
    const std::int64_t total = own > 0 ? base + own : (in_session ? layout.session_bytes : 0);
    layout.transient_bytes = std::max(layout.transient_bytes, total);
    layout.library_bytes = std::max(layout.library_bytes, program.plan.library_bytes);
  }
  layout.arena_bytes = layout.transient_bytes > 0 ? align_up(layout.persistent_bytes) + layout.transient_bytes : layout.persistent_bytes;
  return layout;
}

Engine::Engine(std::vector<CompiledTrace> programs, EngineOptions options)
    : options_(std::move(options)),
      compiled_(std::move(programs)),
      layout_(refuse_or_lay_out(compiled_, options_)),
      arena_(layout_.arena_bytes),
      pool_(std::make_unique<ThreadPool>(options_.threads)) {
  std::byte* const transient = arena_.data() + align_up(layout_.persistent_bytes);
  for (Slot& slot : layout_.session) slot.offset += transient - arena_.data();
  for (const auto* const slots : {&layout_.persistent, &layout_.session}) {
    for (const Slot& slot : *slots) slot_of_.emplace(slot.name, &slot);
  }
  for (const CompiledTrace& compiled : compiled_) {
    ProgramAddresses addresses;
    addresses.transient = compiled.session_states.empty() ? transient : transient + align_up(layout_.session_bytes);
    addresses.slot = [this](const std::string& name) { return bytes(name).data(); };
    programs_.push_back(std::make_unique<Program>(compiled, options_.executors, options_.target, *pool_, addresses));
  }
}

Engine::~Engine() = default;

Program& Engine::program(std::string_view name) {
  for (const auto& program : programs_) {
    if (program->name() == name) return *program;
  }
  throw InternalError(fmt::format("the engine has no program {}", name));
}

bool Engine::has_program(std::string_view name) const {
  return std::any_of(programs_.begin(), programs_.end(), [&](const auto& program) { return program->name() == name; });
}

const Slot* Engine::find_slot(std::string_view name) const {
  const auto found = slot_of_.find(name);
  return found == slot_of_.end() ? nullptr : found->second;
}

std::span<std::byte> Engine::bytes(std::string_view name) {
  const Slot* const slot = find_slot(name);
  REPRISE_CHECK(slot != nullptr, fmt::format("the engine has no parameter or state {}", name));
  return {arena_.data() + slot->offset, static_cast<std::size_t>(slot->type.bytes())};
}

std::span<const std::byte> Engine::bytes(std::string_view name) const { return const_cast<Engine*>(this)->bytes(name); }

std::int64_t Engine::addressed_bytes() const {
  std::int64_t highest = 0;
  for (const auto& program : programs_) {
    if (program->highest_address() != nullptr) highest = std::max<std::int64_t>(highest, program->highest_address() - arena_.data());
  }
  return highest;
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
#include "executor/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/thread_pool.h"
#include "memory/dependencies.h"
#include "memory/placement.h"

namespace reprise {
namespace {

bool lists(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Adds a slot behind the last, or checks that it is the one that is there.
void add_slot(std::vector<Slot>& slots, const Value& value) {
  const auto found = std::find_if(slots.begin(), slots.end(), [&](const Slot& slot) { return slot.name == value.name; });
  if (found == slots.end()) {
    const std::int64_t end = slots.empty() ? 0 : slots.back().offset + slots.back().type.bytes();
    slots.push_back({value.name, value.type, align_up(end)});
    return;
  }
  REPRISE_CHECK(found->type == value.type, fmt::format("programs disagree on {}: {} and {}", value.name, found->type.str(), value.type.str()));
}

std::int64_t end_of(const std::vector<Slot>& slots) { return slots.empty() ? 0 : slots.back().offset + slots.back().type.bytes(); }

EngineLayout refuse_or_lay_out(std::span<const CompiledTrace> programs, const EngineOptions& options) {
  EngineLayout layout = lay_out_engine(programs);
  const std::uint64_t available = options.available_bytes ? *options.available_bytes : available_memory_bytes();
  require_memory(layout.peak_bytes(), available, options.what, options.suggestion);
  return layout;
}

}  // namespace

EngineLayout lay_out_engine(std::span<const CompiledTrace> programs) {
  EngineLayout layout;
  for (const CompiledTrace& program : programs) {
    const Trace& trace = program.claimed.trace;
    for (const TraceInput& input : trace.inputs) {
      if (!is_persistent(input.role)) continue;
      const Value& value = trace[input.value];
      add_slot(lists(program.session_states, value.name) ? layout.session : layout.persistent, value);
    }
  }
  for (const Slot& slot : layout.session) {
    const auto same = [&](const Slot& other) { return other.name == slot.name; };
    REPRISE_CHECK(std::none_of(layout.persistent.begin(), layout.persistent.end(), same), "a state of a session is persistent elsewhere: " + slot.name);
  }
  layout.persistent_bytes = end_of(layout.persistent);
  layout.session_bytes = end_of(layout.session);
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
  for (std::size_t i = 0; i < layout_.session.size(); ++i) layout_.session[i].offset += transient - arena_.data();
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
  for (const auto* const slots : {&layout_.persistent, &layout_.session}) {
    for (const Slot& slot : *slots) {
      if (slot.name == name) return &slot;
    }
  }
  return nullptr;
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

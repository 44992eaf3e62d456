// SPDX-License-Identifier: Apache-2.0
#include "recompute/validate.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/storage.h"
#include "base/error.h"
#include "base/shown_text.h"
#include "ir/name_table.h"
#include "ops/op_table.h"

namespace reprise {
namespace {

class Validator {
 public:
  Validator(const Trace& trace, const RecomputePlan& plan, std::string_view file)
      : trace_(trace), plan_(plan), file_(file), storage_(trace) {
    by_name_.reserve(trace.values.size());
    for (std::size_t i = 0; i < trace.values.size(); ++i) by_name_.insert(trace.values[i].name, static_cast<std::uint32_t>(i));
    state_.resize(trace.values.size());
  }

  void run() {
    read_saved();
    walk();
    check_use();
    check_tags();
  }

 private:
  static constexpr std::size_t kLongest = 400;  // names are as long as a file makes them

  struct State {
    const SavedEntry* saved = nullptr;  // of the storage, or of the view that is copied
    const CopyEntry* copy = nullptr;    // the nearest above
    bool read_again = false;            // a copy of it is read
  };

  template <class... Parts>
  [[noreturn]] void fail(fmt::format_string<Parts...> text, Parts&&... parts) const {
    const std::string in_file = file_.empty() ? std::string() : fmt::format(" in {}", file_);
    throw UserError(fmt::format("the recompute plan for {}{} is not right: {}", trace_.name, in_file,
                                shown_text(fmt::format(text, std::forward<Parts>(parts)...), kLongest)));
  }

  ValueId named(const std::string& name, std::string_view entry) const {
    const std::optional<std::uint32_t> found = by_name_.find(name);
    if (!found) fail("{} names %{}, which the trace has not", entry, name);
    return ValueId(*found);
  }

  const Node& forward_producer(ValueId value, std::string_view entry) const {
    const NodeId producer = trace_[value].producer;
    if (!producer.valid() || trace_[producer].phase != Phase::forward) {
      fail("{} names %{}, which no forward node makes", entry, trace_[value].name);
    }
    return trace_[producer];
  }

  void read_saved() {
    for (const SavedEntry& entry : plan_.saved) {
      const ValueId value = named(entry.value, "a kept value");
      const Node& node = forward_producer(value, "a kept value");
      const bool view = storage_.shares(node);
      if (entry.how == SavedEntry::How::copy && !view) fail("%{} is to be kept as a copy but is no view", entry.value);
      if (entry.how != SavedEntry::How::copy && view) {
        fail("%{} is a view of %{}: keep that, or a copy", entry.value, trace_[storage_.owner(value)].name);
      }
      if (entry.how == SavedEntry::How::hold) {
        const NodeId until = trace_[named(entry.until, "a held value")].producer;
        if (!until.valid() || trace_[until].phase == Phase::forward) {
          fail("%{} is held until %{}, which no backward node makes", entry.value, entry.until);
        }
      }
      if (state_[value.index()].saved != nullptr) fail("%{} is kept twice", entry.value);
      state_[value.index()].saved = &entry;
    }
  }

  /// Whether the value can be read in backward as things stand; what makes it so is marked as used.
  bool readable(ValueId value) {
    const ValueId owner = storage_.owner(value);
    const NodeId producer = trace_[owner].producer;
    if (!producer.valid() || trace_[producer].phase != Phase::forward) return true;
    if (const SavedEntry* const saved = state_[value.index()].saved; saved != nullptr && saved->how == SavedEntry::How::copy) {
      used_.insert(saved);
      return true;
    }
    if (const SavedEntry* const saved = state_[owner.index()].saved; saved != nullptr && saved->how == SavedEntry::How::keep) {
      used_.insert(saved);
      return true;
    }
    if (State& state = state_[value.index()]; state.copy != nullptr) {
      used_copies_.insert(state.copy);
      state.read_again = true;
      return true;
    }
    return false;
  }

  bool is_made_in_forward(ValueId value) const {
    const NodeId producer = trace_[value].producer;
    return producer.valid() && trace_[producer].phase == Phase::forward;
  }

  void make_copy(const CopyEntry& entry) {
    const ValueId value = named(entry.value, "a copy");
    const Node& node = forward_producer(value, "a copy");
    if (node.outputs[0] != value) {
      fail("the copy %{} must name the first output of its node, %{}", entry.name, trace_[node.outputs[0]].name);
    }
    constexpr Trait kOnce = Trait::random | Trait::collective | Trait::effect | Trait::never_recompute;
    if (has_trait(op_row(node.opcode).traits, kOnce)) {
      fail("%{} is made by {}, which runs once only", entry.value, opcode_name(node.opcode));
    }
    if (by_name_.contains(entry.name) || !names_.insert(entry.name).second) fail("the copy's name %{} is taken", entry.name);
    for (const ValueId input : node.inputs) {
      if (!readable(input)) fail("the copy %{} reads %{}, which is neither kept nor made again above it", entry.name, trace_[input].name);
    }
    for (const ValueId output : node.outputs) state_[output.index()].copy = &entry;
  }

  void walk() {
    std::size_t next = 0;
    for (const Node& node : trace_.nodes) {
      if (node.phase == Phase::forward || node.outputs.empty()) continue;
      while (next < plan_.copies.size() && plan_.copies[next].before == trace_[node.outputs[0]].name) make_copy(plan_.copies[next++]);
      for (const ValueId input : node.inputs) {
        if (is_made_in_forward(input) && !readable(input)) {
          fail("%{} reads %{}, which is neither kept nor made again above it", trace_[node.outputs[0]].name, trace_[input].name);
        }
      }
    }
    if (next < plan_.copies.size()) {
      fail("the copy %{} stands before %{}, which is no backward node below that of the entry above", plan_.copies[next].name,
           plan_.copies[next].before);
    }
  }

  void check_use() const {
    for (const SavedEntry& entry : plan_.saved) {
      if (entry.how != SavedEntry::How::hold && !used_.contains(&entry)) fail("%{} is kept, and nothing reads it", entry.value);
    }
    if (plan_.replays_whole) return;
    for (const CopyEntry& entry : plan_.copies) {
      if (!used_copies_.contains(&entry)) fail("the copy %{} is made, and nothing reads it", entry.name);
    }
  }

  void check_tags() const {
    for (std::size_t i = 0; i < trace_.values.size(); ++i) {
      for (const Tag& tag : trace_.values[i].tags) {
        const State& state = state_[storage_.owner(ValueId(i)).index()];
        if (tag.kind == TagKind::must_recompute && state.saved != nullptr) {
          fail("%{} is kept, against its tag must_recompute", trace_.values[i].name);
        }
        if (tag.kind == TagKind::must_save && state.read_again) fail("%{} is made again, against its tag must_save", trace_.values[i].name);
      }
    }
  }

  const Trace& trace_;
  const RecomputePlan& plan_;
  std::string_view file_;
  StorageMap storage_;
  NameTable by_name_;  // of values: their indices
  std::vector<State> state_;  // by value
  std::set<std::string> names_;
  std::set<const SavedEntry*> used_;
  std::set<const CopyEntry*> used_copies_;
};

}  // namespace

void validate_plan(const Trace& trace, const RecomputePlan& plan, std::string_view file) {
  if (plan.empty() && (file.empty() || plan.policy == "none")) return;
  Validator(trace, plan, file).run();
}

}  // namespace reprise

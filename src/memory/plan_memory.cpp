// SPDX-License-Identifier: Apache-2.0
// Solves the memory plan: slots for donations, chains of in-place nodes share one buffer, offsets by place_buffers.
#include <algorithm>

#include "analysis/storage.h"
#include "base/error.h"
#include "memory/dependencies.h"
#include "memory/memory_plan.h"
#include "memory/placement.h"

namespace reprise {
namespace {

class Planner {
 public:
  explicit Planner(const ClaimedTrace& claimed)
      : claimed_(claimed), trace_(claimed.trace), storage_(trace_), lifetimes_(storage_lifetimes(trace_, storage_)) {
    index_.assign(trace_.values.size(), kNone);
    for (std::size_t i = 0; i < lifetimes_.size(); ++i) index_[lifetimes_[i].owner.index()] = i;
    slots_.assign(lifetimes_.size(), ValueId());
    onto_.assign(lifetimes_.size(), ValueId());
    buffer_.assign(lifetimes_.size(), kNone);
    gone_.assign(lifetimes_.size(), false);
  }

  MemoryPlan plan() {
    take_slots();
    make_buffers();
    return lay_out();
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  void take_slots() {
    for (const TraceInput& input : trace_.inputs) {
      if (is_persistent(input.role)) slots_[index_[input.value.index()]] = input.value;
    }
    for (const Donation& donation : trace_.donations) {
      const TraceInput& input = trace_.inputs[donation.input];
      const ValueId output = trace_.outputs[donation.output];
      if (!is_persistent(input.role) || output == input.value) continue;
      const std::size_t taker = index_[output.index()];
      REPRISE_CHECK(taker != kNone && !slots_[taker].valid(), "a donation's output owns its storage: " + trace_[output].name);
      slots_[taker] = input.value;
      // The writer reads the slot it overwrites when the slot's last reader is the writer itself.
      if (lifetimes_[index_[input.value.index()]].last == lifetimes_[taker].first) onto_[taker] = input.value;
    }
  }

  /// Gives every transient storage a buffer; the output of a node that may overwrite a dying input takes over the input's.
  void make_buffers() {
    for (const TraceInput& input : trace_.inputs) {
      const std::size_t i = index_[input.value.index()];
      if (!slots_[i].valid()) start_buffer(i);
    }
    for (std::size_t n = 0; n < trace_.nodes.size(); ++n) {
      const Node& node = trace_.nodes[n];
      if (storage_.shares(node)) continue;
      for (std::uint32_t output = 0; output < node.outputs.size(); ++output) {
        const std::size_t i = index_[node.outputs[output].index()];
        if (slots_[i].valid()) continue;
        const std::size_t taken = dying_input(n, output);
        if (taken == kNone) {
          start_buffer(i);
          continue;
        }
        onto_[i] = lifetimes_[taken].owner;
        buffer_[i] = buffer_[taken];
        buffers_[buffer_[i]].last = std::max(buffers_[buffer_[i]].last, lifetimes_[i].last);
        gone_[taken] = true;
      }
    }
  }

  void start_buffer(std::size_t i) {
    buffer_[i] = buffers_.size();
    buffers_.push_back({lifetimes_[i].bytes, lifetimes_[i].first, lifetimes_[i].last});
  }

  /// A storage that node n reads last, and that its output may be written onto.
  std::size_t dying_input(std::size_t n, std::uint32_t output) const {
    const Node& node = trace_.nodes[n];
    const Claim& claim = claimed_.claims[n];
    for (const InPlacePair& pair : claim.in_place) {
      if (pair.output != output) continue;
      const ValueId owner = storage_.owner(node.inputs.at(pair.input));
      const std::size_t i = index_[owner.index()];
      const bool dies = !slots_[i].valid() && lifetimes_[i].last == static_cast<std::int64_t>(n) && lifetimes_[i].bytes > 0;
      if (dies && !gone_[i] && may_overwrite(trace_, storage_, node, claim, output, owner)) return i;
    }
    return kNone;
  }

  MemoryPlan lay_out() const {
    MemoryPlan plan;
    plan.name = trace_.name;
    std::vector<Buffer> all = buffers_;
    for (std::size_t n = 0; n < trace_.nodes.size(); ++n) {
      const Claim& claim = claimed_.claims[n];
      plan.library_bytes = std::max(plan.library_bytes, claim.library_bytes);
      if (claim.workspace_bytes == 0) continue;
      const auto position = static_cast<std::int64_t>(n);
      plan.workspaces.push_back({static_cast<std::uint32_t>(n), 0, claim.workspace_bytes});
      all.push_back({claim.workspace_bytes, position, position});
    }
    const Placement placement = place_buffers(all);
    plan.transient_bytes = placement.peak;
    plan.bound_bytes = peak_live_bytes(all);
    for (std::size_t i = 0; i < lifetimes_.size(); ++i) {
      const Lifetime& lifetime = lifetimes_[i];
      StoragePlan storage{trace_[lifetime.owner].name, {}, 0, lifetime.bytes, {}};
      if (slots_[i].valid()) {
        storage.slot = trace_[slots_[i]].name;
      } else {
        storage.offset = placement.offsets[buffer_[i]];
      }
      if (onto_[i].valid()) storage.onto = trace_[onto_[i]].name;
      plan.storages.push_back(std::move(storage));
    }
    for (std::size_t w = 0; w < plan.workspaces.size(); ++w) plan.workspaces[w].offset = placement.offsets[buffers_.size() + w];
    return plan;
  }

  const ClaimedTrace& claimed_;
  const Trace& trace_;
  StorageMap storage_;
  std::vector<Lifetime> lifetimes_;
  std::vector<std::size_t> index_;    // by value: its lifetime, where it owns its storage
  std::vector<ValueId> slots_;        // by lifetime: the persistent input whose slot it has
  std::vector<ValueId> onto_;         // by lifetime
  std::vector<std::size_t> buffer_;   // by lifetime
  std::vector<Buffer> buffers_;
  std::vector<bool> gone_;            // by lifetime: taken over already
};

}  // namespace

MemoryPlan plan_memory(const ClaimedTrace& claimed) {
  REPRISE_CHECK(claimed.claims.size() == claimed.trace.nodes.size(), "a claim per node");
  return Planner(claimed).plan();
}

}  // namespace reprise

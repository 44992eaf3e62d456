// SPDX-License-Identifier: Apache-2.0
#include "recompute/flow.h"

#include <algorithm>
#include <limits>

#include "ir/region.h"
#include "ops/op_table.h"

namespace reprise {

ForwardFlow::ForwardFlow(const Trace& trace)
    : trace_(trace), storage_(trace), kept_within_(trace.values.size(), std::numeric_limits<std::size_t>::max()), is_output_(trace.values.size(), false) {
  for (const Node& node : trace.nodes) {
    if (!is_forward(node) || is_view(node)) continue;
    for (const ValueId input : node.inputs) {
      const ValueId made = owner(input);
      if (!is_forward(made)) continue;
      const Interned home = trace[trace[made].producer].region;
      if (home == node.region) continue;
      std::size_t& within = kept_within_[made.index()];
      within = std::min(within, shared_segments(home.view(), node.region.view()));
    }
  }
  for (const ValueId output : trace.outputs) {
    kept_within_[owner(output).index()] = 0;
    is_output_[owner(output).index()] = true;
  }
}

bool ForwardFlow::is_forward(ValueId value) const {
  const NodeId producer = trace_[value].producer;
  return producer.valid() && trace_[producer].phase == Phase::forward;
}

std::string_view reason_to_run_once(const Node& node) {
  const Trait traits = op_row(node.opcode).traits;
  if (has_trait(traits, Trait::random)) return "it advances the generator";
  if (has_trait(traits, Trait::collective)) return "it talks to other processes";
  if (has_trait(traits, Trait::effect)) return "it has an effect";
  if (has_trait(traits, Trait::never_recompute)) return "its op is never run twice";
  return {};
}

}  // namespace reprise

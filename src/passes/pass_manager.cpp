// SPDX-License-Identifier: Apache-2.0
#include "passes/pass_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"
#include "interpreter/interpreter.h"
#include "interpreter/random_inputs.h"
#include "ops/op_table.h"
#include "ops/verifier.h"
#include "passes/cse.h"
#include "passes/dce.h"
#include "passes/decompose.h"
#include "passes/functionalize.h"
#include "passes/rewrite.h"
#include "passes/rng.h"
#include "passes/simplify.h"

namespace reprise {
namespace {

Trace run_rng(const Trace& trace) { return number_draws(trace).trace; }

constexpr Pass kCatalogue[] = {
    {"functionalize", "in-place nodes become pure ones", true, functionalize},
    {"rng", "draws of the generator get fixed numbers", false, run_rng},
    {"decompose", "user ops become what they are made of", true, decompose_user_ops},
    {"simplify", "algebraic rules that keep every bit", true, simplify},
    {"cse", "equal nodes become one", true, merge_common_subexpressions},
    {"dce", "nodes that no output needs go", true, eliminate_dead_code},
    {"renumber", "values are numbered inputs first, then in the order of nodes", false, renumber},
};

/// Whether the interpreter can run the trace: no draw without a number, no group of several processes.
bool runs_alone(const Trace& trace) {
  return std::all_of(trace.nodes.begin(), trace.nodes.end(), [](const Node& node) {
    const auto* const collective = std::get_if<CollectiveAttrs>(&node.attrs);
    return !has_trait(op_row(node.opcode).traits, Trait::random) && (collective == nullptr || collective->size == 1) &&
           std::all_of(node.bodies.begin(), node.bodies.end(), runs_alone);
  });
}

/// The outputs on seeded inputs, or nothing when the trace cannot be run here.
std::optional<std::vector<HostTensor>> results(const Trace& trace, const PassOptions& options) {
  if (!options.compare || !runs_alone(trace)) return std::nullopt;
  return interpret(trace, random_inputs(trace, options.seed, options.integers));
}

/// A pass may append outputs (functionalize does), but those that were there keep their bits, and (below) their names.
void require_equal(const Pass& pass, const Trace& trace, const std::vector<HostTensor>& before, const std::vector<HostTensor>& after) {
  for (std::size_t i = 0; i < before.size(); ++i) {
    REPRISE_CHECK(before[i] == after[i], fmt::format("pass '{}' changed the result %{}", pass.name, trace[trace.outputs[i]].name));
  }
}

/// Programs are asked for their outputs by name. One that is an input of the trace has the input's name, which may become another
/// value's.
void require_output_names(const Pass& pass, const Trace& before, const Trace& after) {
  REPRISE_CHECK(after.outputs.size() >= before.outputs.size(), fmt::format("pass '{}' dropped an output", pass.name));
  for (std::size_t i = 0; i < before.outputs.size(); ++i) {
    const Value& old = before[before.outputs[i]];
    const Value& now = after[after.outputs[i]];
    REPRISE_CHECK(!old.producer.valid() || old.name == now.name,
                  fmt::format("pass '{}' renamed the output %{} to %{}", pass.name, old.name, now.name));
  }
}

[[noreturn]] void fail(const Pass& pass, const Trace& trace, const PassOptions& options, const std::string& reason) {
  std::string text = fmt::format("pass '{}' failed on trace '{}': {}", pass.name, trace.name, reason);
  if (options.save_failing) {
    text += fmt::format("\nreplay it with: reprise run-trace {}", options.save_failing(pass.name, trace));
  }
  throw InternalError(text);
}

}  // namespace

std::span<const Pass> pass_catalogue() { return kCatalogue; }

const Pass& find_pass(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kCatalogue), std::end(kCatalogue), [&](const Pass& pass) { return pass.name == name; });
  if (found != std::end(kCatalogue)) return *found;
  std::vector<std::string_view> names;
  for (const Pass& pass : kCatalogue) names.push_back(pass.name);
  throw UserError(fmt::format("there is no pass '{}'{}; there are: {}", name, nearest_hint(name, names), fmt::join(names, ", ")));
}

Trace run_passes(const Trace& first, std::span<const Pass> passes, const PassOptions& options) {
  if (passes.empty()) return first;
  std::optional<std::vector<HostTensor>> before = results(first, options);
  Trace last;
  for (const Pass& pass : passes) {
    const Trace& trace = &pass == passes.data() ? first : last;
    try {
      Trace result = pass.run(trace);
      verify_or_throw(result, fmt::format("pass '{}'", pass.name));
      require_output_names(pass, trace, result);
      std::optional<std::vector<HostTensor>> after = results(result, options);
      if (before && after) require_equal(pass, result, *before, *after);
      before = std::move(after);
      if (options.dump) options.dump(pass.name, result);
      last = std::move(result);
    } catch (const UserError&) {
      throw;
    } catch (const std::exception& error) {
      fail(pass, trace, options, error.what());
    }
  }
  return last;
}

}  // namespace reprise

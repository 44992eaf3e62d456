// SPDX-License-Identifier: Apache-2.0
// `reprise trace`: prints the program a model is traced to, at one stage of the compile.
#include <string>
#include <utility>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/execution.h"
#include "cli/training_request.h"
#include "io/file_write.h"
#include "reprise/trace.h"

namespace reprise {
namespace {

/// The trace at the stage, as `reprise train` would make it.
Trace trace_at(const std::string& stage, const TrainingRequest& request, const CompileOptions& compile) {
  if (stage == "forward") return request.forward;
  TrainingTraces traces = trace_training(request, compile);
  if (stage == "joint") return std::move(traces.joint.trace);
  if (stage == "step") return std::move(traces.step.trace);
  if (stage == "claimed") return clean_and_claim(traces.step.trace, compile).trace;
  if (stage == "recomputed") {
    RecomputedTrace recomputed = clean_claim_recompute(traces.step.trace, compile);
    for (const std::string& warning : recomputed.warnings) log_warning(warning);
    return std::move(recomputed.claimed.trace);
  }
  return compile_trace(traces.step.trace, compile).claimed.trace;
}

}  // namespace

int run_trace(const ResolvedOptions& options) {
  const GptConfig config = model_of(options);
  const Trace trace = trace_at(options.get_text("stage"), training_request(options, config), compile_options(options, config));
  write_text_file(options.get_text("out"), print_trace(trace));
  return 0;
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// `reprise trace`: prints the program a model is traced to, at one stage of the compile.
#include <string>
#include <utility>

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
  if (stage == "recomputed") return clean_claim_recompute(traces.step.trace, compile).claimed.trace;
  return compile_trace(traces.step.trace, compile).claimed.trace;
}

}  // namespace

int run_trace(const ResolvedOptions& options) {
  const Trace trace = trace_at(options.get_text("stage"), training_request(options, model_of(options)), compile_options(options));
  write_text_file(options.get_text("out"), print_trace(trace));
  return 0;
}

}  // namespace reprise

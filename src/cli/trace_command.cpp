// SPDX-License-Identifier: Apache-2.0
// `reprise trace`: prints the program a model is traced to, at one stage of the compile.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/execution.h"
#include "cli/model_source.h"
#include "io/file_write.h"
#include "ir/printer.h"
#include "nn/gpt_trace.h"

namespace reprise {
namespace {

TrainingRequest training_request(const ResolvedOptions& options) {
  ModelSource source = find_model(options.get_text("model"), ignored_config_keys(options));
  apply_size_options(options, source.config);
  if (options.given("tie_embeddings")) source.config.tied = options.get_flag("tie_embeddings");
  GptTraceOptions trace;
  trace.batch = options.get_int("micro_batch_size");
  trace.dtype = dtype_option(options);
  TrainingRequest request;
  request.forward = trace_forward_loss(source.config, trace).trace;
  if (options.has("trainable")) request.trainable = fmt::format("{}", fmt::join(options.get_list("trainable"), ","));
  request.adamw.max_norm = 1;
  request.adamw.master_weights = options.get_flag("master_weights");
  if (trace.dtype != DType::float32 && !request.adamw.master_weights) request.adamw.rounding = rounding_option(options);
  return request;
}

/// The trace at the stage, as `reprise train` would make it.
Trace trace_at(const std::string& stage, const TrainingRequest& request, const CompileOptions& compile) {
  if (stage == "forward") return request.forward;
  TrainingTraces traces = trace_training(request, compile);
  if (stage == "joint") return std::move(traces.joint.trace);
  if (stage == "step") return std::move(traces.step.trace);
  if (stage == "claimed") return clean_and_claim(traces.step.trace, compile).trace;
  return compile_trace(traces.step.trace, compile).claimed.trace;
}

}  // namespace

int run_trace(const ResolvedOptions& options) {
  const Trace trace = trace_at(options.get_text("stage"), training_request(options), compile_options(options));
  write_text_file(options.get_text("out"), print_trace(trace));
  return 0;
}

}  // namespace reprise

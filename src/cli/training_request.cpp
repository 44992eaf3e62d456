// SPDX-License-Identifier: Apache-2.0
#include "cli/training_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/execution.h"
#include "cli/model_source.h"
#include "nn/gpt_trace.h"

namespace reprise {

GptConfig model_of(const ResolvedOptions& options) {
  GptConfig config = find_model(options.get_text("model"), ignored_config_keys(options)).config;
  apply_size_options(options, config);
  if (options.given("tie_embeddings")) config.tied = options.get_flag("tie_embeddings");
  return config;
}

TrainingRequest training_request(const ResolvedOptions& options, const GptConfig& config) {
  GptTraceOptions trace;
  trace.batch = options.get_int("micro_batch_size");
  trace.dtype = dtype_option(options);
  TrainingRequest request;
  request.forward = trace_forward_loss(config, trace).trace;
  if (options.has("trainable")) request.trainable = fmt::format("{}", fmt::join(options.get_list("trainable"), ","));
  request.adamw.max_norm = options.get_number("max_norm");
  request.adamw.master_weights = options.get_flag("master_weights");
  if (trace.dtype != DType::float32 && !request.adamw.master_weights) request.adamw.rounding = rounding_option(options);
  request.accumulate = options.has("global_batch_size") && options.get_int("global_batch_size") > trace.batch;
  return request;
}

}  // namespace reprise

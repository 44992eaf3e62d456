// SPDX-License-Identifier: Apache-2.0
#include "nn/gpt_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "nn/gpt.h"
#include "nn/rope.h"
#include "ops/builders.h"

namespace reprise {
namespace {

/// The type of losses, tables and scalar factors beside activations of `dtype`.
DType wide(DType dtype) { return dtype == DType::float64 ? DType::float64 : DType::float32; }

std::int64_t checked_length(const GptConfig& config, std::int64_t length, std::string_view what) {
  if (length < 1 || length > config.block_size) {
    throw UserError(fmt::format("{} must be between 1 and the model's block size {}, not {}", what, config.block_size, length));
  }
  return length;
}

void require_batch(const GptTraceOptions& options) {
  if (options.batch < 1) throw UserError(fmt::format("the batch must hold at least one row, not {}", options.batch));
}

/// Whole rotary tables; invalid where nothing turns.
struct Tables {
  RopeRows rope;
  RopeRows local_rope;
};

RopeRows table_input(Tracer& tracer, const RopeTables& tables, const char* name, DType dtype) {
  if (tables.cos.empty()) return {};
  const Shape shape{tables.length, tables.n_elem};
  return {tracer.constant(fmt::format("{}.cos", name), shape, tables.cos, dtype),
          tracer.constant(fmt::format("{}.sin", name), shape, tables.sin, dtype)};
}

/// The rotary tables as inputs. `rows`: positions this trace needs.
Tables table_inputs(Tracer& tracer, const GptConfig& config, const GptTraceOptions& options, std::int64_t rows) {
  const std::int64_t length = std::max(rows, options.table_rows);
  return {table_input(tracer, rope_tables(config, length), "rope", wide(options.dtype)),
          table_input(tracer, local_rope_tables(config, length), "rope.local", wide(options.dtype))};
}

/// Rows 0 .. length-1 of a table.
Tensor first_rows(const Tensor& table, std::int64_t length) {
  return table.size(0) == length ? table : table.slice(0, 0, length);
}

RopeRows first_rows(const RopeRows& tables, std::int64_t length) {
  return tables.cos.valid() ? RopeRows{first_rows(tables.cos, length), first_rows(tables.sin, length)} : tables;
}

RopeRows selected_rows(const RopeRows& tables, const Tensor& rows) {
  return tables.cos.valid() ? RopeRows{tables.cos.index_select(0, rows), tables.sin.index_select(0, rows)} : tables;
}

/// Sets which cached keys the token at `row` ([1]) sees: all up to itself, and of those the last `window`.
void set_masks(const GptConfig& config, const Tensor& row, std::int64_t cache_length, SequenceContext& context) {
  Tracer& tracer = row.tracer();
  const Shape shape{1, 1, 1, cache_length};
  const Tensor keys{tracer, ops::iota(tracer.builder(), cache_length)};
  const Tensor past = keys <= row;
  context.mask = past.reshape(shape);
  if (!config.sliding_window_size) return;
  const Tensor leaves{tracer, ops::iota(tracer.builder(), cache_length, DType::int64, *config.sliding_window_size)};
  const Tensor recent = row < leaves;
  context.window_mask = Tensor{tracer, ops::binary(tracer.builder(), op::logical_and, past.id(), recent.id())}.reshape(shape);
}

/// The hidden states of rows that hold several documents. `position` [B, T] counts from 0 in each, so that its distance to the
/// index tells documents apart.
Tensor hidden_of_packed_rows(const Gpt& model, const Tensor& tokens, const Tensor& position, const Tables& tables,
                             SequenceContext context) {
  Tracer& tracer = tokens.tracer();
  const std::int64_t batch = tokens.size(0);
  const std::int64_t length = tokens.size(1);
  context.segments = Tensor{tracer, ops::iota(tracer.builder(), length)} - position;
  const auto rows_at = [&](const RopeRows& table) {
    if (!table.cos.valid()) return table;
    const RopeRows rows = selected_rows(table, position.reshape({batch * length}));
    const Shape shape{batch, 1, length, rows.cos.size(1)};
    return RopeRows{rows.cos.reshape(shape), rows.sin.reshape(shape)};
  };
  context.rope = rows_at(tables.rope);
  context.local_rope = rows_at(tables.local_rope);
  const bool learned = model.config.positions == Positions::learned;
  return model.hidden(tokens, learned ? model.transformer.wpe(position) : Tensor(), context);
}

/// The pass over whole rows of tokens that training, evaluation and prefill share: tokens -> hidden states.
Tensor hidden_of_rows(const Gpt& model, const Tensor& tokens, const Tables& tables, SequenceContext context) {
  Tracer& tracer = tokens.tracer();
  const std::int64_t length = tokens.size(1);
  context.rope = first_rows(tables.rope, length);
  context.local_rope = first_rows(tables.local_rope, length);
  Tensor positions;
  if (model.config.positions == Positions::learned) positions = first_rows(tracer.parameter(model.transformer.wpe.weight), length);
  return model.hidden(tokens, positions, context);
}

/// Loss of each target: [B * T].
Tensor token_losses(const Tensor& logits, const Tensor& targets) {
  const std::int64_t rows = targets.shape().numel();
  return cross_entropy_rows(logits.reshape({rows, logits.size(-1)}), targets.reshape({rows}));
}

std::string cache_name(std::size_t layer, const char* part) { return fmt::format("cache.{}.{}", layer, part); }

/// The caches of all layers, as they are before the pass.
std::vector<KeyValues> cache_inputs(Tracer& tracer, const GptConfig& config, const GptTraceOptions& options, std::int64_t cache_length) {
  const auto type = [&](std::int64_t width) {
    return TensorType{options.dtype, {options.batch, config.n_query_groups, cache_length, width}, Device::cpu};
  };
  std::vector<KeyValues> caches;
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(config.n_layer); ++layer) {
    const Tensor k = tracer.input(cache_name(layer, "k"), type(config.key_width()), Role::state);
    const Tensor v = tracer.input(cache_name(layer, "v"), type(config.value_width()), Role::state);
    caches.push_back({k, v});
  }
  return caches;
}

/// Makes `next` an output that takes the cache's place.
void output_cache(Tracer& tracer, const KeyValues& cache, const KeyValues& next, std::size_t layer) {
  tracer.output(tracer.named(next.k, cache_name(layer, "k") + ".next"));
  tracer.output(tracer.named(next.v, cache_name(layer, "v") + ".next"));
  tracer.donate(cache.k, next.k);
  tracer.donate(cache.v, next.v);
}

TracedProgram trace_loss(const GptConfig& config, const GptTraceOptions& options, bool scaled, std::string name) {
  require_batch(options);
  const Gpt model(config);
  const std::int64_t length = checked_length(config, options.length == 0 ? config.block_size : options.length, "the sequence length");
  Tracer tracer(std::move(name), options.dtype);
  tracer.declare(model);
  const Tables tables = table_inputs(tracer, config, options, length);
  const TensorType tokens_type{DType::int64, {options.batch, length}, Device::cpu};
  const Tensor tokens = tracer.input("tokens", tokens_type, Role::batch);
  const Tensor targets = tracer.input("targets", tokens_type, Role::batch);
  const Tensor inv_kept = scaled ? tracer.input("inv_kept", {wide(options.dtype), {}, Device::cpu}, Role::scalar) : Tensor();
  SequenceContext context;
  context.training = options.training;
  const Tensor positions = options.packed ? tracer.input("positions", tokens_type, Role::batch) : Tensor();
  const Tensor hidden = options.packed ? hidden_of_packed_rows(model, tokens, positions, tables, context)
                                       : hidden_of_rows(model, tokens, tables, context);
  const Tensor logits = model.logits(hidden);
  const Tensor losses = token_losses(logits, targets);
  const Tensor loss = losses.sum();
  tracer.output(tracer.named(scaled ? loss * inv_kept : loss, "loss"));
  if (options.token_losses) tracer.output(tracer.named(losses, "token_losses"));
  if (options.output_logits) tracer.output(tracer.named(logits, "logits"));
  return std::move(tracer).finish();
}

}  // namespace

TracedProgram trace_forward_loss(const GptConfig& config, const GptTraceOptions& options) {
  return trace_loss(config, options, true, "forward");
}

TracedProgram trace_eval(const GptConfig& config, GptTraceOptions options) {
  options.training = false;
  return trace_loss(config, options, false, "eval");
}

TracedProgram trace_prefill(const GptConfig& config, const GptTraceOptions& options, std::int64_t cache_length) {
  require_batch(options);
  const Gpt model(config);
  checked_length(config, cache_length, "the cache length");
  const std::int64_t length = options.length == 0 ? cache_length : options.length;
  if (length < 1 || length > cache_length) {
    throw UserError(fmt::format("the prompt's length must be between 1 and the cache length {}, not {}", cache_length, length));
  }
  Tracer tracer("prefill", options.dtype);
  tracer.declare(model);
  const Tables tables = table_inputs(tracer, config, options, cache_length);
  const Tensor tokens = tracer.input("tokens", {DType::int64, {options.batch, length}, Device::cpu}, Role::batch);
  const Tensor last = tracer.input("last", {DType::int64, {}, Device::cpu}, Role::scalar);
  const std::vector<KeyValues> caches = cache_inputs(tracer, config, options, cache_length);
  std::vector<KeyValues> fresh;
  SequenceContext context;
  context.fresh = &fresh;
  const Tensor hidden = hidden_of_rows(model, tokens, tables, context);
  const Tensor row = hidden.index_select(1, last.reshape({1})).squeeze({1});  // [B, C]
  tracer.output(tracer.named(model.logits(row), "logits"));
  const auto padded = [&](const Tensor& x) {
    if (length == cache_length) return x;
    return Tensor{tracer, ops::pad(tracer.builder(), x.id(), {0, 0, 0, 0}, {0, 0, cache_length - length, 0})};
  };
  for (std::size_t layer = 0; layer < fresh.size(); ++layer) {
    output_cache(tracer, caches[layer], {padded(fresh[layer].k), padded(fresh[layer].v)}, layer);
  }
  return std::move(tracer).finish();
}

TracedProgram trace_decode(const GptConfig& config, const GptTraceOptions& options, std::int64_t cache_length) {
  require_batch(options);
  const Gpt model(config);
  checked_length(config, cache_length, "the cache length");
  Tracer tracer("decode", options.dtype);
  tracer.declare(model);
  const Tables tables = table_inputs(tracer, config, options, cache_length);
  const Tensor token = tracer.input("token", {DType::int64, {options.batch, 1}, Device::cpu}, Role::batch);
  const Tensor position = tracer.input("position", {DType::int64, {}, Device::cpu}, Role::scalar);
  SequenceContext context;
  context.caches = cache_inputs(tracer, config, options, cache_length);
  const Tensor row = position.reshape({1});
  context.rope = selected_rows(tables.rope, row);
  context.local_rope = selected_rows(tables.local_rope, row);
  Tensor positions;
  if (config.positions == Positions::learned) positions = tracer.parameter(model.transformer.wpe.weight).index_select(0, row);
  set_masks(config, row, cache_length, context);
  context.cache_position = position.reshape({1, 1, 1, 1});
  std::vector<KeyValues> written;
  context.fresh = &written;
  const Tensor hidden = model.hidden(token, positions, context);  // [B, 1, C]
  tracer.output(tracer.named(model.logits(hidden.reshape({options.batch, config.n_embd})), "logits"));
  for (std::size_t layer = 0; layer < written.size(); ++layer) {
    output_cache(tracer, context.caches[layer], written[layer], layer);
  }
  return std::move(tracer).finish();
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
#include "train/text_generator.h"

#include <algorithm>

#include "base/error.h"

namespace reprise {

TextGenerator::TextGenerator(Engine& engine, std::int64_t vocabulary)
    : prefill_(engine.program("prefill")), decode_(engine.program("decode")), vocabulary_(vocabulary) {
  const Trace& trace = decode_.trace();
  for (const TraceInput& input : trace.inputs) {
    const Value& value = trace[input.value];
    if (input.role == Role::state && value.name.starts_with("cache.")) cache_length_ = value.type.shape[2];
  }
  const std::size_t tokens = prefill_.input_index("tokens");
  prefill_length_ = static_cast<std::int64_t>(prefill_.input(tokens).size() / sizeof(std::int64_t));
  tokens_.resize(static_cast<std::size_t>(prefill_length_));
}

std::span<const float> TextGenerator::as_floats(const Program& program, std::size_t output) {
  const Trace& trace = program.trace();
  const TensorType& type = trace.type(trace.outputs[output]);
  if (type.dtype == DType::float32) return program.output_as<float>(output);
  REPRISE_CHECK(type.dtype == DType::bfloat16, "logits are float32 or bfloat16");
  const std::span<const bfloat16> narrow = program.output_as<bfloat16>(output);
  logits_.resize(narrow.size());
  std::transform(narrow.begin(), narrow.end(), logits_.begin(), [](bfloat16 x) { return to_float(x); });
  return logits_;
}

std::span<const float> TextGenerator::prefill(std::span<const std::int32_t> tokens) {
  std::fill(tokens_.begin(), tokens_.end(), 0);
  std::copy(tokens.begin(), tokens.end(), tokens_.begin());
  prefill_.set_input(prefill_.input_index("tokens"), std::span<const std::int64_t>(tokens_));
  prefill_.set_scalar(prefill_.input_index("last"), static_cast<std::int64_t>(tokens.size()) - 1);
  prefill_.run();
  return as_floats(prefill_, prefill_.output_index("logits"));
}

std::span<const float> TextGenerator::decode(std::int32_t token, std::int64_t position) {
  decode_.set_scalar(decode_.input_index("token"), std::int64_t{token});
  decode_.set_scalar(decode_.input_index("position"), position);
  decode_.run();
  return as_floats(decode_, decode_.output_index("logits"));
}

void TextGenerator::generate(std::span<const std::int32_t> prompt, std::int64_t count, const SamplingOptions& sampling,
                             const std::function<bool(std::int32_t)>& sink) {
  REPRISE_CHECK(!prompt.empty(), "a generation starts from at least one token");
  const auto last = [](std::span<const std::int32_t> all, std::int64_t most) {
    return all.size() <= static_cast<std::size_t>(most) ? all : all.last(static_cast<std::size_t>(most));
  };
  Sampler sampler(sampling);
  const std::span<const std::int32_t> start = last(prompt, prefill_length_);
  std::vector<std::int32_t> text(start.begin(), start.end());  // what lies in the cache
  std::span<const float> logits = prefill(text);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t token = sampler.draw(logits, vocabulary_, static_cast<std::uint64_t>(i));
    if (!sink(token) || i + 1 == count) return;
    text.push_back(token);
    if (static_cast<std::int64_t>(text.size()) <= cache_length_) {
      logits = decode(token, static_cast<std::int64_t>(text.size()) - 1);
      continue;
    }
    const std::span<const std::int32_t> kept = last(text, std::min(prefill_length_, (cache_length_ + 1) / 2));
    text = std::vector<std::int32_t>(kept.begin(), kept.end());
    logits = prefill(text);
  }
}

}  // namespace reprise

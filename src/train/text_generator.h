// SPDX-License-Identifier: Apache-2.0
// Writes text with a model in an engine: one prefill pass over the prompt, then a decode pass per token on cached keys and
// values. A text that outgrows the cache goes on from its last half.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "executor/engine.h"
#include "train/sampling.h"

namespace reprise {

class TextGenerator {
 public:
  /// `engine` has the programs prefill and decode (one row each) and outlives the generator. `vocabulary`: tokens that may
  /// be drawn, the rest of the logits is padding.
  TextGenerator(Engine& engine, std::int64_t vocabulary);

  /// Longest prompt, and most tokens that a text can look back on.
  std::int64_t prefill_length() const { return prefill_length_; }
  std::int64_t cache_length() const { return cache_length_; }

  /// Draws up to `count` tokens after `prompt` (at least one token; of a longer one than prefill_length only the end counts)
  /// and gives each to `sink`, which returns false to stop.
  void generate(std::span<const std::int32_t> prompt, std::int64_t count, const SamplingOptions& sampling,
                const std::function<bool(std::int32_t)>& sink);

 private:
  /// Logits behind the last of `tokens`; fills the caches.
  std::span<const float> prefill(std::span<const std::int32_t> tokens);
  /// Logits behind `token` at place `position`.
  std::span<const float> decode(std::int32_t token, std::int64_t position);
  std::span<const float> as_floats(const Program& program, std::size_t output);

  Program& prefill_;
  Program& decode_;
  std::int64_t vocabulary_;
  std::int64_t prefill_length_ = 0;
  std::int64_t cache_length_ = 0;
  std::vector<std::int64_t> tokens_;      // prefill's input
  std::vector<float> logits_;             // widened where the model is not float32
};

}  // namespace reprise

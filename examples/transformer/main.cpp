// SPDX-License-Identifier: Apache-2.0
// A small decoder-only transformer, written from parameters and tensors, that learns to spell a text: training with spans of token
// ids, then writing with a forward-only program on the same parameters.
#include <reprise/reprise.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace {

using reprise::Initializer;
using reprise::Tensor;

constexpr std::string_view kText =
    "the sea was calm and the wind was low. the boat went out and the net went down. "
    "the net came up and the boat came home. the wind was high and the sea was grey. ";
constexpr std::int64_t kRows = 16;     // sequences of a batch
constexpr std::int64_t kLength = 32;   // tokens of a sequence
constexpr std::int64_t kWidth = 32;
constexpr std::int64_t kHeads = 4;

/// x + attention(norm(x)), then x + mlp(norm(x)).
struct Block : reprise::Module {
  Block()
      : norm_1(add_module("norm_1", reprise::RmsNorm(kWidth, 1e-5, true, false))),
        norm_2(add_module("norm_2", reprise::RmsNorm(kWidth, 1e-5, true, false))),
        qkv(add_module("qkv", reprise::Linear(kWidth, 3 * kWidth, false, Initializer::normal(0.1)))),
        proj(add_module("proj", reprise::Linear(kWidth, kWidth, false, Initializer::normal(0.1)))),
        up(add_module("up", reprise::Linear(kWidth, 4 * kWidth, false, Initializer::normal(0.1)))),
        down(add_module("down", reprise::Linear(4 * kWidth, kWidth, false, Initializer::normal(0.1)))) {}

  /// x: [B, T, C]
  Tensor operator()(const Tensor& x) const {
    const auto scope = x.tracer().module(module_name());
    const std::int64_t rows = x.size(0);
    const std::int64_t length = x.size(1);
    const auto heads = [&](const Tensor& part) {  // [B, T, C] -> [B, H, T, D]
      return part.reshape({rows, length, kHeads, kWidth / kHeads}).transpose(1, 2);
    };
    const std::vector<Tensor> parts = qkv(norm_1(x)).split(-1, {kWidth, kWidth, kWidth});
    reprise::AttentionOptions options;
    options.causal = true;
    options.scale = 1 / std::sqrt(static_cast<double>(kWidth / kHeads));
    const Tensor attended = reprise::scaled_attention(heads(parts[0]), heads(parts[1]), heads(parts[2]), Tensor(), options);
    const Tensor y = x + proj(attended.transpose(1, 2).reshape({rows, length, kWidth}));
    return y + down(up(norm_2(y)).silu());
  }

  reprise::RmsNorm norm_1, norm_2;
  reprise::Linear qkv, proj, up, down;
};

struct Speller : reprise::Module {
  explicit Speller(std::int64_t symbols)
      : tokens(add_module("tokens", reprise::Embedding(symbols, kWidth, Initializer::normal(0.1)))),
        positions(add_parameter("positions", {kLength, kWidth}, Initializer::normal(0.1))),
        block_1(add_module("block_1", Block())),
        block_2(add_module("block_2", Block())),
        norm(add_module("norm", reprise::RmsNorm(kWidth, 1e-5, true, false))),
        head(add_module("head", reprise::Linear(tokens.weight, false))) {}  // tied to the embedding

  /// tokens [B, kLength] -> logits [B, kLength, symbols]
  Tensor operator()(const Tensor& ids) const {
    const Tensor x = tokens(ids) + ids.tracer().parameter(positions);
    return head(norm(block_2(block_1(x))));
  }

  reprise::Embedding tokens;
  reprise::Parameter positions;
  Block block_1, block_2;
  reprise::RmsNorm norm;
  reprise::Linear head;
};

int run() {
  std::string symbols(kText);
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  std::vector<std::int64_t> ids;
  for (const char c : kText) ids.push_back(static_cast<std::int64_t>(symbols.find(c)));

  const Speller model(static_cast<std::int64_t>(symbols.size()));
  const reprise::DType int64 = reprise::DType::int64;
  reprise::StepOptions options;
  options.seed = 1;
  options.optimizer.max_norm = 1;
  options.functions = {{"logits", {{"ids", {int64, {1, kLength}}}}, [&](const std::vector<Tensor>& in) {
                          return reprise::NamedTensors{{"logits", model(in[0])}};
                        }}};
  reprise::Step step = reprise::compile_step(
      model, {{"ids", {int64, {kRows, kLength}}}, {"targets", {int64, {kRows, kLength}}}},
      [&](const std::vector<Tensor>& in) {
        const Tensor logits = model(in[0]);
        return reprise::cross_entropy_rows(logits.reshape({kRows * kLength, logits.size(-1)}), in[1].reshape({kRows * kLength})).mean();
      },
      options);
  std::printf("%zu parameter tensors, at most %lld bytes\n", step.parameters().list().size(),
              static_cast<long long>(step.predicted_peak_bytes()));

  std::vector<std::int64_t> inputs(kRows * kLength);
  std::vector<std::int64_t> targets(kRows * kLength);
  constexpr int kSteps = 200;
  for (int i = 0; i < kSteps; ++i) {
    for (std::int64_t row = 0; row < kRows; ++row) {
      const std::size_t start = static_cast<std::size_t>(i * 37 + row * 10) % (ids.size() - kLength - 1);
      std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(start), kLength, inputs.begin() + row * kLength);
      std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(start) + 1, kLength, targets.begin() + row * kLength);
    }
    step.set_learning_rate(3e-3 * (1 - i / static_cast<double>(kSteps)));
    const reprise::StepOutcome outcome = step.run({inputs, targets});
    if (i % 40 == 0 || i + 1 == kSteps) std::printf("step %3d  loss %.3f\n", i + 1, outcome.loss);
  }

  // Writes on from the first letters, always the likeliest symbol.
  reprise::Function logits = step.function("logits");
  std::vector<std::int64_t> text(ids.begin(), ids.begin() + 8);
  while (text.size() < static_cast<std::size_t>(kLength)) {
    std::vector<std::int64_t> padded = text;
    padded.resize(kLength);
    logits.run({padded});
    const auto row = logits.output<float>("logits").subspan((text.size() - 1) * symbols.size(), symbols.size());
    text.push_back(std::max_element(row.begin(), row.end()) - row.begin());
  }
  std::string written;
  for (const std::int64_t id : text) written += symbols[static_cast<std::size_t>(id)];
  std::printf("wrote: %s\n", written.c_str());
  return 0;
}

}  // namespace

int main() {
  reprise::set_log_callback([](reprise::LogLevel, const std::string& message) { std::fprintf(stderr, "%s\n", message.c_str()); });
  try {
    return run();
  } catch (const reprise::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

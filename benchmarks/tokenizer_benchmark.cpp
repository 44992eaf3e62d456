// SPDX-License-Identifier: Apache-2.0
// Encoding, decoding and learning in bytes per second on one thread: tokenizer_benchmark FILE... [TOKENIZER.json|.tiktoken...].
// The text is that of all FILEs together, repeated to 16 MB; one tokenizer is learned from it, others are those named.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "io/file_write.h"
#include "tokenizer/bpe_trainer.h"
#include "tokenizer/tokenizer.h"

namespace {

using reprise::Tokenizer;

constexpr std::size_t kTextBytes = 16'000'000;
constexpr std::int64_t kLearnedTokens = 4096;

void report(benchmark::State& state, const std::string& text) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(text.size()));
}

void encode(benchmark::State& state, const Tokenizer& tokenizer, const std::string& text) {
  for (auto _ : state) {
    std::size_t count = 0;
    tokenizer.encode_to(text, [&count](std::span<const std::int32_t> ids) { count += ids.size(); });
    benchmark::DoNotOptimize(count);
  }
  report(state, text);
}

void decode(benchmark::State& state, const Tokenizer& tokenizer, const std::string& text) {
  const std::vector<std::int32_t> ids = tokenizer.encode(text);
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.decode(ids).size());
  report(state, text);
}

void learn(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    reprise::BpeTrainer trainer;
    trainer.add_text(text);
    benchmark::DoNotOptimize(trainer.train(kLearnedTokens, {"<|endoftext|>"}).tokens.size());
  }
  report(state, text);
}

bool is_tokenizer(const std::string& path) { return path.ends_with(".json") || path.ends_with(".tiktoken"); }

int run(int argc, char** argv) {
  static std::string once;
  static std::vector<std::unique_ptr<Tokenizer>> tokenizers;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string path = argv[i];
    if (is_tokenizer(path)) {
      tokenizers.push_back(reprise::load_tokenizer(path));
      names.push_back(path.substr(path.rfind('/') + 1));
    } else {
      once += reprise::read_text_file(path);
    }
  }
  if (once.empty()) {
    std::fprintf(stderr, "usage: tokenizer_benchmark FILE... [TOKENIZER.json|.tiktoken...]\n");
    return 2;
  }
  const std::string_view documents = once;
  tokenizers.push_back(reprise::learn_tokenizer("bpe:" + std::to_string(kLearnedTokens), std::span(&documents, 1)));
  names.emplace_back("learned");
  static std::string text;
  while (text.size() < kTextBytes) text += once;
  for (std::size_t i = 0; i < tokenizers.size(); ++i) {
    const Tokenizer& tokenizer = *tokenizers[i];
    benchmark::RegisterBenchmark(("encode/" + names[i]).c_str(), [&tokenizer](benchmark::State& state) { encode(state, tokenizer, text); });
    benchmark::RegisterBenchmark(("encode_once/" + names[i]).c_str(),
                                 [&tokenizer](benchmark::State& state) { encode(state, tokenizer, once); });
    benchmark::RegisterBenchmark(("decode/" + names[i]).c_str(), [&tokenizer](benchmark::State& state) { decode(state, tokenizer, once); });
  }
  benchmark::RegisterBenchmark("learn/once", [](benchmark::State& state) { learn(state, once); });
  benchmark::RegisterBenchmark("learn", [](benchmark::State& state) { learn(state, text); });
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tokenizer_benchmark: %s\n", error.what());
    return 2;
  }
}

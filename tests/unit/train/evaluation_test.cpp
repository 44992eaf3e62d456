// SPDX-License-Identifier: Apache-2.0
// Scores of documents: each token once, with the context that the header promises, whatever else is in its batch.
#include "train/evaluation.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <memory>
#include <vector>

#include "executor/loops/executor.h"
#include "executor/onednn/executor.h"
#include "executor/reference_executor.h"
#include "interpreter/interpreter.h"
#include "nn/gpt_trace.h"
#include "support/tolerance.h"
#include "train/gpt_programs.h"

namespace reprise {
namespace {

using Ids = std::vector<std::int32_t>;

/// A fresh model and its packed program.
struct Scorable {
  GptConfig config;
  GptPrograms programs;
  std::unique_ptr<Engine> engine;
  ScoringOptions options;

  Scorable(const std::string& model, std::int64_t block, std::int64_t stride, std::int64_t rows, DType dtype = DType::float32,
           bool onednn = false)
      : config(named_config(model)), options{block, stride, rows} {
    GptProgramOptions request;
    request.config = config;
    request.dtype = dtype;
    request.block_size = block;
    request.micro_batch_size = rows;
    request.train = false;
    request.evaluate = request.packed = request.token_losses = true;
    ExecutorList executors = {&loops_executor(), &reference_executor()};
    if (onednn) executors.insert(executors.begin(), &onednn_executor());
    const CompileOptions compile = host_options(executors, 1);
    programs = compile_gpt(request, compile);
    engine = std::make_unique<Engine>(programs.list(), engine_options(compile));
    load_tables(programs, *engine);
    initialize_weights(programs, 3, *engine);
  }

  std::vector<DocumentScore> score(const std::vector<Ids>& documents) {
    std::vector<DocumentScore> scores;
    DocumentScorer scorer(*engine, options, [&](const DocumentScore& score) { scores.push_back(score); });
    for (std::size_t d = 0; d < documents.size(); ++d) {
      scorer.begin("doc", static_cast<std::int64_t>(d));
      scorer.add(std::span(documents[d]).first(documents[d].size() / 2), true);
      scorer.add(std::span(documents[d]).subspan(documents[d].size() / 2), true);
      scorer.end(static_cast<std::int64_t>(documents[d].size()));
    }
    scorer.finish();
    return scores;
  }

  /// Loss of the last of `ids` given the ones before it, by interpreting a trace that is not packed, in float64.
  double loss_of_last(const Ids& ids) const {
    const auto length = static_cast<std::int64_t>(ids.size()) - 1;
    GptTraceOptions trace_options{.length = length, .dtype = DType::float64, .training = false};
    trace_options.table_rows = options.block_size;
    const TracedProgram program = trace_eval(config, trace_options);
    std::vector<HostTensor> inputs;
    for (const TraceInput& input : program.trace.inputs) {
      const std::string& name = program.trace[input.value].name;
      const TensorType& type = program.trace.type(input.value);
      if (name == "tokens") {
        inputs.push_back(HostTensor::of<std::int64_t>({1, length}, std::vector<std::int64_t>(ids.begin(), ids.end() - 1)));
      } else if (name == "targets") {
        std::vector<std::int64_t> targets(static_cast<std::size_t>(length), -100);
        targets.back() = ids.back();
        inputs.push_back(HostTensor::of<std::int64_t>({1, length}, targets));
      } else {
        HostTensor value(type);
        for (const InitialState& state : program.state) {
          if (state.name == name) value = HostTensor(state.type, state.bytes.data());
        }
        for (const NamedParameter& parameter : program.parameters) {
          if (parameter.name == name) widen(engine->values<float>(name), value.as<double>());
        }
        inputs.push_back(value);
      }
    }
    return interpret(program.trace, inputs)[0].number();
  }

  static void widen(std::span<const float> from, std::span<double> to) { std::copy(from.begin(), from.end(), to.begin()); }
};

Ids document(std::size_t length, std::int32_t seed) {
  Ids ids;
  for (std::size_t i = 0; i < length; ++i) {
    ids.push_back(static_cast<std::int32_t>((static_cast<std::size_t>(seed) * 31 + i * 17 + i * i * 5) % 60));
  }
  return ids;
}

TEST(DocumentScorer, TokensHaveTheContextThatIsPromised) {
  constexpr std::int64_t kBlock = 8;
  for (const std::int64_t stride : {1, 3, 8}) {
    Scorable model("toy-llama", kBlock, stride, 2);
    for (const std::size_t length : {2u, 8u, 9u, 10u, 21u}) {
      const Ids ids = document(length, 4);
      double expected = 0;
      for (std::size_t target = 1; target < length; ++target) {
        // the first window that holds the target
        std::size_t start = 0;
        while (start + kBlock < target) start += static_cast<std::size_t>(stride);
        expected += model.loss_of_last(
            Ids(ids.begin() + static_cast<std::ptrdiff_t>(start), ids.begin() + static_cast<std::ptrdiff_t>(target) + 1));
        if (target > kBlock) {
          EXPECT_GE(target - start, static_cast<std::size_t>(kBlock - stride + 1));
        } else {
          EXPECT_EQ(start, 0u);
        }
      }
      const std::vector<DocumentScore> scores = model.score({ids});
      ASSERT_EQ(scores.size(), 1u);
      EXPECT_EQ(scores[0].tokens, static_cast<std::int64_t>(length) - 1);
      EXPECT_NEAR(scores[0].loss_sum, expected, test::tolerance(DType::float32, 64) * expected) << stride << " " << length;
    }
  }
}

TEST(DocumentScorer, ADocumentScoresWhatItScoresAlone) {
  std::vector<Ids> documents;
  for (std::int32_t d = 0; d < 12; ++d) documents.push_back(document(static_cast<std::size_t>(2 + d * 7 % 23), d));
  for (const char* name : {"toy-gpt", "toy-llama", "toy-neox"}) {
    for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
      SCOPED_TRACE(std::string(name) + " " + std::string(dtype_name(dtype)));
      Scorable model(name, 16, 11, 3, dtype);
      const std::vector<DocumentScore> together = model.score(documents);
      ASSERT_EQ(together.size(), documents.size());
      for (std::size_t d = 0; d < documents.size(); ++d) {
        const DocumentScore alone = model.score({documents[d]})[0];
        EXPECT_EQ(together[d].line, static_cast<std::int64_t>(d));
        EXPECT_EQ(together[d].tokens, alone.tokens);
        EXPECT_EQ(std::bit_cast<std::uint64_t>(together[d].loss_sum), std::bit_cast<std::uint64_t>(alone.loss_sum)) << d;
      }
    }
  }
}

TEST(DocumentScorer, OneDnnAgreesWithinRounding) {
  std::vector<Ids> documents;
  for (std::int32_t d = 0; d < 6; ++d) documents.push_back(document(static_cast<std::size_t>(5 + d * 9), d));
  Scorable loops("toy-llama", 32, 32, 2);
  Scorable library("toy-llama", 32, 32, 2, DType::float32, true);
  const auto expected = loops.score(documents);
  const auto actual = library.score(documents);
  for (std::size_t d = 0; d < documents.size(); ++d) {
    EXPECT_NEAR(actual[d].loss_sum, expected[d].loss_sum, test::tolerance(DType::float32, 128) * expected[d].loss_sum);
  }
}

TEST(DocumentScorer, WhatIsOnlyReadIsContext) {
  Scorable model("toy-llama", 16, 16, 1);
  const Ids ids = document(12, 1);
  std::vector<DocumentScore> scores;
  DocumentScorer scorer(*model.engine, model.options, [&](const DocumentScore& score) { scores.push_back(score); });
  scorer.begin("doc", 0);
  scorer.add(std::span(ids).first(11), false);
  scorer.add(std::span(ids).last(1), true);
  scorer.end(3);
  scorer.begin("unscored", 0);
  scorer.add(ids, false);
  scorer.end(0);
  scorer.begin("one token", 0);
  scorer.add(std::span(ids).first(1), true);
  scorer.end(0);
  scorer.finish();
  ASSERT_EQ(scores.size(), 3u);
  EXPECT_EQ(scores[0].tokens, 1);
  EXPECT_NEAR(scores[0].loss_sum, model.loss_of_last(ids), test::tolerance(DType::float32, 64) * scores[0].loss_sum);
  EXPECT_EQ(scores[1].tokens, 0);
  EXPECT_TRUE(std::isnan(scores[1].loss()));
  EXPECT_EQ(scores[2].path, "one token");
  EXPECT_EQ(scores[2].tokens, 0);
}

TEST(DocumentScore, FiguresAreWhatTheirNamesSay) {
  DocumentScore score{"a", 0, 4, 10, 6.0};
  EXPECT_DOUBLE_EQ(score.loss(), 1.5);
  EXPECT_DOUBLE_EQ(score.perplexity(), std::exp(1.5));
  EXPECT_DOUBLE_EQ(score.bits_per_byte(), 6.0 / std::log(2.0) / 10);
  score.add({"b", 0, 2, 6, 3.0});
  EXPECT_EQ(score.tokens, 6);
  EXPECT_EQ(score.bytes, 16);
  EXPECT_DOUBLE_EQ(score.loss(), 1.5);
}

}  // namespace
}  // namespace reprise

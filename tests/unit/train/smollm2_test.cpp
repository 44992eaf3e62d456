// SPDX-License-Identifier: Apache-2.0
// A real model in float64 against figures of transformers 5.10 on the same file (its weights widened to float64; norms and
// rotary tables there are float32).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "executor/executor_list.h"
#include "support/smollm2.h"
#include "support/tolerance.h"
#include "tokenizer/tokenizer.h"
#include "train/gpt_programs.h"
#include "train/model_folder.h"

namespace reprise {
namespace {

constexpr std::string_view kText =
    "The sun rises in the east and sets in the west. The capital of France is Paris, and the capital of Germany is Berlin. "
    "Water boils at a high temperature.";

TEST(SmolLm2, TextHasTheReferencesTokens) {
  REPRISE_SKIP_WITHOUT_SMOLLM2();
  const auto tokenizer = load_tokenizer(*test::smollm2_file());
  EXPECT_EQ(tokenizer->vocab_size(), 49152);
  EXPECT_EQ(tokenizer->encode_framed(kText),
            (std::vector<std::int32_t>{504, 2388, 13685, 281, 260, 6251, 284, 5208, 281, 260, 5846, 30, 378, 3575, 282, 4649, 314,
                                       7042, 28, 284, 260, 3575, 282, 4521, 314, 11452, 30, 4643, 36411, 418, 253, 904, 2779, 30}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(kText)), kText);
}

TEST(SmolLm2, MeanLossIsTheReferences) {
  REPRISE_SKIP_WITHOUT_SMOLLM2();
  const std::filesystem::path path = *test::smollm2_file();
  const FolderConfig model = read_config(path);
  const auto ids = load_tokenizer(path)->encode(kText);
  GptProgramOptions options;
  options.config = model.config;
  options.dtype = DType::float64;
  options.block_size = static_cast<std::int64_t>(ids.size()) - 1;
  options.train = false;
  options.evaluate = true;
  const CompileOptions compile = host_options(make_executor_list("loops,reference"));
  const GptPrograms programs = compile_gpt(options, compile);
  Engine engine(programs.list(), engine_options(compile));
  load_tables(programs, engine);
  load_model_weights(path, model, parameter_slots(programs, engine));
  Program& eval = engine.program("eval");
  const std::vector<std::int64_t> tokens(ids.begin(), ids.end() - 1);
  const std::vector<std::int64_t> targets(ids.begin() + 1, ids.end());
  eval.set_input(eval.input_index("tokens"), std::span<const std::int64_t>(tokens));
  eval.set_input(eval.input_index("targets"), std::span<const std::int64_t>(targets));
  eval.run();
  const double mean = eval.output_as<double>(eval.output_index("loss"))[0] / static_cast<double>(targets.size());
  EXPECT_NEAR(mean, 2.2156155109405518, test::tolerance(DType::float32, model.config.n_embd));
}

}  // namespace
}  // namespace reprise

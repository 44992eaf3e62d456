// SPDX-License-Identifier: Apache-2.0
// The configurations in configs/, each with one small step of the built program.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/run_program.h"
#include "support/sample_text.h"
#include "support/smollm2.h"
#include "support/temporary_directory.h"
#include "support/source_directory.h"

namespace reprise::test {
namespace {

std::string config(const std::string& name) { return (test::source_directory() / "configs" / name).string(); }

/// `words` and what makes a run of any of the configurations one small step.
ProgramResult one_step(const TemporaryDirectory& folder, const std::string& name, std::vector<std::string> words) {
  put_file(folder / "text.txt", sample_text(200));
  std::vector<std::string> all{"train", "--config", config(name), "--data", folder / "text.txt", "--out", folder / "run", "--block_size",
                               "16", "--micro_batch_size", "1", "--global_batch_size", "1", "--warmup_steps", "0", "--val_data", "0",
                               "--eval_interval", "0", "--sample_interval", "0"};
  all.insert(all.end(), words.begin(), words.end());
  return reprise_run(all);
}

TEST(Configs, OfCharactersTakesAStep) {
  const TemporaryDirectory folder;
  const ProgramResult result = one_step(folder, "char.toml", {"--n_layers", "1", "--max_steps", "1"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("model   1 layers × 384"), std::string::npos) << result.err;
}

TEST(Configs, OfGpt2TakesAStep) {
  const TemporaryDirectory folder;
  const ProgramResult result = one_step(folder, "gpt2.toml", {"--n_layers", "1", "--max_tokens", "16", "--trainable", "*ln_f*"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("model   1 layers × 768"), std::string::npos) << result.err;
}

TEST(Configs, OfSmolLm2TakesAStep) {
  REPRISE_SKIP_WITHOUT_SMOLLM2();
  const TemporaryDirectory folder;
  const ProgramResult result =
      one_step(folder, "smollm2-finetune.toml", {"--init_from", *smollm2_file(), "--max_steps", "1", "--trainable", "*ln_f*"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("49152 tokens in the vocabulary"), std::string::npos) << result.err;
  // The run's model is a Hugging Face folder with the tokenizer.
  const ProgramResult written =
      reprise_run({"generate", folder / "run", "--prompt", "Once upon a time", "--temperature", "0", "--max_new_tokens", "8", "--quiet"});
  EXPECT_EQ(written.out, "Once upon a time, the city of Nova Haven was a\n") << written.err;
}

}  // namespace
}  // namespace reprise::test

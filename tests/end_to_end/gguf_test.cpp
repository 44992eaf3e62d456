// SPDX-License-Identifier: Apache-2.0
// Models in GGUF files, with the built program.
#include <gtest/gtest.h>

#include <string>

#include "io/json.h"
#include "support/run_program.h"
#include "support/smollm2.h"
#include "support/temporary_directory.h"

namespace reprise::test {
namespace {

/// Greedy text of transformers 5.10 in float64 on the same file; the likeliest token leads by 0.047 at least.
TEST(GgufFile, GeneratesTheReferencesText) {
  REPRISE_SKIP_WITHOUT_SMOLLM2();
  const auto continued = [](const std::string& model, const std::string& prompt, const char* count) {
    const ProgramResult result =
        reprise_run({"generate", model, "--prompt", prompt, "--temperature", "0", "--max_new_tokens", count, "--quiet"});
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  };
  const std::string file = *smollm2_file();
  EXPECT_EQ(
      continued(file, "Once upon a time", "48"),
      "Once upon a time, the city of Nova Haven was a thriving metropolis, with towering skyscrapers and bustling streets. But as the "
      "years went by, the city began to lose its original essence. The once-blue skies of the planet Earth began to fade, and\n");
  // The second text ends by the token that ends an answer.
  EXPECT_EQ(continued(file, "The capital of France is", "48"), "The capital of France is Paris.\n\nThe answer is: 2018-01-22 12:12:53.\n");
  EXPECT_EQ(continued(smollm2_file()->parent_path(), "The capital of France is", "1"), "The capital of France is Paris\n");
}

TEST(GgufFile, IsAModelEverywhere) {
  REPRISE_SKIP_WITHOUT_SMOLLM2();
  const TemporaryDirectory folder;
  const std::string file = *smollm2_file();
  ASSERT_EQ(reprise_run({"models", file, "--json", folder / "m.json"}).status, 0);
  const Json described = read_json(folder / "m.json");
  EXPECT_EQ(described.find("n_parameters")->integer(), 134515008);
  EXPECT_EQ(described.find("n_query_groups")->integer(), 3);
  EXPECT_EQ(described.find("block_size")->integer(), 8192);
  const ProgramResult traced =
      reprise_run({"trace", file, "--stage", "forward", "--n_layers", "1", "--block_size", "8", "--micro_batch_size", "1"});
  EXPECT_EQ(traced.status, 0) << traced.err;
  EXPECT_NE(traced.out.find("transformer.h.0.attn.qkv"), std::string::npos);
}

TEST(GgufFile, WhatIsWrongIsSaid) {
  const TemporaryDirectory folder;
  put_file(folder / "m.gguf", "GGUF");
  expect_refusal({"models", folder / "m.gguf"}, "m.gguf: the version at byte 4 needs 4 bytes");
  expect_refusal({"generate", folder / "none.gguf"}, "none.gguf");
  expect_refusal({"export", folder / "m.gguf", "--out", folder / "out"}, "a GGUF file cannot be exported yet");
  put_file(folder / "n.gguf", "GGUF");
  expect_refusal({"generate", folder.path()}, "the folder holds several GGUF files; give one of them");
}

}  // namespace
}  // namespace reprise::test

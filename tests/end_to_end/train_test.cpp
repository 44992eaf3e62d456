// SPDX-License-Identifier: Apache-2.0
// Train, stop, resume, generate, with the built program.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "io/json.h"
#include "support/run_program.h"
#include "support/sample_text.h"
#include "support/temporary_directory.h"

namespace reprise::test {
namespace {

namespace fs = std::filesystem;

class Train : public ::testing::Test {
 protected:
  void SetUp() override { put_file(folder_ / "text.txt", sample_text(400)); }

  std::vector<std::string> words(const std::string& out, std::vector<std::string> more) const {
    std::vector<std::string> all{
        "train",          "--data", folder_ / "text.txt", "--out", folder_ / out, "--micro_batch_size", "4", "--block_size", "32",
        "--eval_batches", "4",      "--log_interval",     "1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::string weights(const std::string& run) const { return get_file(folder_ / (run + "/model/model.safetensors")); }
  std::string file(const std::string& name) const { return get_file(folder_ / name); }
  std::string at(const std::string& name) const { return folder_ / name; }

  TemporaryDirectory folder_;
};

/// The losses of RUN/metrics.jsonl, in order.
std::vector<double> losses_of(const std::string& lines) {
  std::vector<double> losses;
  std::size_t begin = 0;
  while (begin < lines.size()) {
    const std::size_t end = lines.find('\n', begin);
    losses.push_back(parse_json(std::string_view(lines).substr(begin, end - begin), "metrics").find("loss")->number());
    begin = end + 1;
  }
  return losses;
}

TEST_F(Train, LearnsAndLeavesARunThatWrites) {
  const ProgramResult trained =
      reprise_run(words("run", {"toy-gpt", "--max_steps", "60", "--learning_rate", "0.01", "--sample_interval", "40"}));
  ASSERT_EQ(trained.status, 0) << trained.err;
  // The first screen.
  EXPECT_TRUE(std::regex_search(
      trained.err, std::regex("^data    text\\.txt: [0-9.]+ kB, [0-9]+ characters; [0-9]+ train, [0-9]+ validation tokens\n"
                              "model   2 layers × 64, [0-9.]+ k parameters; float32, [0-9]+ threads? \\([A-Z0-9.-]+\\)\n"
                              "memory  predicted [0-9.]+ [kMG]B \\([0-9.]+ [MG]B available\\) · recompute auto \\(default\\)\nstep ")))
      << trained.err;
  EXPECT_NE(trained.err.find("sample at step 40: "), std::string::npos) << trained.err;
  EXPECT_TRUE(std::regex_search(trained.out, std::regex("^validation loss [0-9.]+ after 60 steps; model in "))) << trained.out;
  for (const char* name :
       {"config.toml", "plan.txt", "metrics.jsonl", "metrics.csv", "log.txt", "latest", "model/config.json", "model/tokenizer.json"}) {
    EXPECT_TRUE(fs::exists(at("run/" + std::string(name)))) << name;
  }
  const std::vector<double> losses = losses_of(file("run/metrics.jsonl"));
  ASSERT_EQ(losses.size(), 60U);
  EXPECT_GT(losses.front(), 2.5);  // about the logarithm of the number of characters
  EXPECT_LT(losses.back(), 1.8);

  const std::vector<std::string> generate{"generate", at("run"), "--prompt", "the ", "--max_new_tokens", "80", "--seed", "7"};
  const ProgramResult first = reprise_run(generate);
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(first.out.size(), 4U + 80U + 1U);
  EXPECT_TRUE(first.out.starts_with("the ")) << first.out;
  EXPECT_EQ(reprise_run(generate).out, first.out);
  std::vector<std::string> whole = generate;
  whole.insert(whole.end(), {"--no_stream", "--threads", "1"});
  EXPECT_EQ(reprise_run(whole).out, first.out);
  // Prompts that fill the block (32) or more than it.
  std::string longer = "the ";
  while (longer.size() < 128) longer += longer;
  for (const std::size_t length : {31U, 32U, 33U, 100U}) {
    const std::string prompt = longer.substr(0, length);
    const ProgramResult result = reprise_run({"generate", at("run"), "--prompt", prompt, "--max_new_tokens", "3", "--quiet"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out.size(), length + 3 + 1);
    EXPECT_TRUE(result.out.starts_with(prompt)) << result.out;
  }
  // The model folder alone does too.
  std::vector<std::string> from_model = generate;
  from_model[1] = at("run/model");
  EXPECT_EQ(reprise_run(from_model).out, first.out);
}

TEST_F(Train, InterruptedRunGoesOnToTheSameBits) {
  const std::vector<std::string> more{"toy-llama", "--max_steps", "40", "--dropout", "0.1", "--save_interval", "7", "--threads", "1"};
  const ProgramResult whole = reprise_run(words("whole", more));
  ASSERT_EQ(whole.status, 0) << whole.err;

  std::vector<std::string> start = words("parts", more);
  start.insert(start.begin(), REPRISE_BINARY);
  RunningProgram part(start);
  ASSERT_TRUE(part.wait_for_err("step  3/40"));
  part.send(SIGTERM);
  const ProgramResult stopped = part.wait();
  ASSERT_EQ(stopped.status, 128 + SIGTERM) << stopped.err;
  const std::string command = "continue with: reprise train --resume " + at("parts");
  EXPECT_NE(stopped.err.find(command), std::string::npos) << stopped.err;
  const std::size_t before = losses_of(file("parts/metrics.jsonl")).size();
  EXPECT_LT(before, 40U);

  const ProgramResult resumed = reprise_run({"train", "--resume", at("parts"), "--threads", "2"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_TRUE(weights("parts") == weights("whole"));
  EXPECT_TRUE(file("parts/step-40/optimizer.safetensors") == file("whole/step-40/optimizer.safetensors"));
  EXPECT_EQ(losses_of(file("parts/metrics.jsonl")), losses_of(file("whole/metrics.jsonl")));
}

TEST_F(Train, SecondStageStartsFromAModelFolder) {
  ASSERT_EQ(reprise_run(words("first", {"toy-gpt", "--max_steps", "30", "--learning_rate", "0.01"})).status, 0);
  // Tokenizer and structure come with the weights; the loss goes on from where it was.
  const ProgramResult second =
      reprise_run(words("second", {"--init_from", at("first/model"), "--max_steps", "2", "--learning_rate", "0.0001"}));
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_LT(losses_of(file("second/metrics.jsonl")).front(), losses_of(file("first/metrics.jsonl")).front() - 0.5);
  EXPECT_EQ(file("second/model/tokenizer.json"), file("first/model/tokenizer.json"));
}

TEST_F(Train, BytePairsAccumulationAndBfloat16) {
  const ProgramResult trained =
      reprise_run(words("run", {"toy-neox", "--tokenizer", "bpe:300", "--global_batch_size", "8", "--dtype", "bfloat16", "--epochs", "0.5",
                                "--schedule", "wsd", "--trainable", "*attn*,*mlp*"}));
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_NE(trained.err.find("300 tokens in the vocabulary"), std::string::npos) << trained.err;
  EXPECT_NE(trained.err.find("; bfloat16, "), std::string::npos) << trained.err;
  EXPECT_EQ(reprise_run({"generate", at("run"), "--temperature", "0", "--max_new_tokens", "5", "--quiet"}).err, "");
}

TEST_F(Train, QuietPrintsResultsOnly) {
  const ProgramResult trained = reprise_run(words("run", {"toy-gpt", "--max_steps", "2", "--quiet", "--val_data", "0"}));
  EXPECT_EQ(trained.status, 0);
  EXPECT_EQ(trained.err, "");
  EXPECT_TRUE(trained.out.starts_with("loss ")) << trained.out;
  // Nothing is left to do, until the end is moved.
  EXPECT_NE(reprise_run({"train", "--resume", at("run")}).err.find("the run had ended already, after 2 steps"), std::string::npos);
  EXPECT_NE(reprise_run({"train", "--resume", at("run"), "--max_steps", "3"}).out.find("after 3 steps"), std::string::npos);
}

TEST_F(Train, ResumesWithItsSaveListOrPlanWhereverTheFileWent) {
  put_file(folder_ / "list.txt", "default\ngelu\n");
  ASSERT_EQ(reprise_run(words("of_list", {"toy-gpt", "--max_steps", "1", "--recompute", "ops:" + at("list.txt")})).status, 0);
  put_file(folder_ / "plan.txt", file("of_list/recompute_plan.txt"));
  const ProgramResult planned = reprise_run(words("of_plan", {"toy-gpt", "--max_steps", "1", "--check_recompute", "--recompute",
                                                              "file:" + at("plan.txt")}));
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_NE(planned.err.find("loss, parameters and states of a step are those of recompute none"), std::string::npos) << planned.err;
  std::filesystem::remove(folder_ / "list.txt");
  std::filesystem::remove(folder_ / "plan.txt");
  for (const char* run : {"of_list", "of_plan"}) {
    const std::string plan = file(std::string(run) + "/recompute_plan.txt");
    const ProgramResult resumed = reprise_run({"train", "--resume", at(run), "--max_steps", "2"});
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_EQ(file(std::string(run) + "/recompute_plan.txt"), plan);
    std::filesystem::remove(at(std::string(run) + "/recompute_file.txt"));
    expect_refusal({"train", "--resume", at(run), "--max_steps", "3"}, "--resume " + at(run) + " --recompute auto");
    EXPECT_EQ(reprise_run({"train", "--resume", at(run), "--max_steps", "3", "--recompute", "auto"}).status, 0);
  }
}

TEST_F(Train, ConfigurationFileGivesTheSameRun) {
  ASSERT_EQ(reprise_run(words("one", {"toy-gpt", "--max_steps", "3"})).status, 0);
  ASSERT_EQ(reprise_run({"train", "--config", at("one/config.toml"), "--out", at("two")}).status, 0);
  EXPECT_TRUE(weights("one") == weights("two"));
  // A file of options is a model too.
  EXPECT_EQ(reprise_run({"models", at("one/config.toml")}).status, 0);
}

}  // namespace
}  // namespace reprise::test

// SPDX-License-Identifier: Apache-2.0
// A run that is killed at any moment, also while it writes a checkpoint, resumes to the bits of a run that never stopped.
// REPRISE_KILLS sets the number of kills, REPRISE_SEED the moments.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "io/file_write.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

using Arguments = std::vector<std::string>;

pid_t start(Arguments arguments) {
  arguments.insert(arguments.begin(), REPRISE_BINARY);
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execv(words[0], words.data());
    ::_exit(127);
  }
  return child;
}

/// Waits for the end; returns the exit status, or minus the signal.
int finish(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::int64_t number_from(const char* variable, std::int64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

class KillTest : public ::testing::Test {
 protected:
  test::TemporaryDirectory folder_;

  void SetUp() override {
    std::string text;
    for (int i = 0; i < 400; ++i) text += "line " + std::to_string(i * 7919 % 1000) + " of a text that a run may learn.\n";
    write_text_file(folder_.path() / "text.txt", text);
  }

  std::filesystem::path run_path(std::string_view name) const { return folder_.path() / name; }

  Arguments fresh(std::string_view name, int threads) const {
    return {"train", "--model", "toy-gpt", "--data", (folder_.path() / "text.txt").string(), "--out", run_path(name).string(),
            "--block_size", "32", "--micro_batch_size", "2", "--global_batch_size", "4", "--max_steps", "24", "--save_interval", "2",
            "--eval_interval", "8", "--log_interval", "1", "--dropout", "0.1", "--quiet", "--overwrite", "--threads",
            std::to_string(threads)};
  }
  /// Continues the run, or starts it where the kill came before there was one.
  Arguments again(std::string_view name, int threads) const {
    if (!std::filesystem::exists(run_path(name) / "config.toml")) return fresh(name, threads);
    return {"train", "--resume", run_path(name).string(), "--quiet", "--threads", std::to_string(threads)};
  }
  std::string final_bits(std::string_view name) const {
    const std::filesystem::path last = run_path(name) / "latest";
    EXPECT_EQ(std::filesystem::read_symlink(last), "step-24");
    return read_text_file(last / "model.safetensors") + read_text_file(last / "optimizer.safetensors") +
           read_text_file(run_path(name) / "model" / "model.safetensors");
  }
};

TEST_F(KillTest, ResumesToTheSameBits) {
  const std::int64_t kills = number_from("REPRISE_KILLS", 4);
  const auto seed = static_cast<std::uint64_t>(number_from("REPRISE_SEED", 1));
  const auto began = std::chrono::steady_clock::now();
  ASSERT_EQ(finish(start(fresh("whole", 1))), 0);
  const auto whole_us = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - began).count();
  const std::string expected = final_bits("whole");
  std::mt19937_64 random(seed);
  std::int64_t killed = 0;
  for (std::int64_t run = 0; killed < kills; ++run) {
    const std::string name = "run" + std::to_string(run);
    int threads = static_cast<int>(run % 2) + 1;
    Arguments arguments = fresh(name, threads);
    int status = -SIGKILL;
    while (status != 0) {
      const pid_t child = start(arguments);
      if (killed < kills) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % static_cast<std::uint64_t>(whole_us)));
        ::kill(child, SIGKILL);
      }
      status = finish(child);
      ASSERT_TRUE(status == 0 || status == -SIGKILL) << "exit status " << status << ", seed " << seed << ", kill " << killed;
      if (status == -SIGKILL) ++killed;
      threads = 3 - threads;
      arguments = again(name, threads);
    }
    ASSERT_TRUE(final_bits(name) == expected) << "seed " << seed << ", run " << run;
    std::filesystem::remove_all(run_path(name));
  }
}

}  // namespace
}  // namespace reprise

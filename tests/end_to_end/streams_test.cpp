// SPDX-License-Identifier: Apache-2.0
// The built program with standard streams that are pipes, full or closed, and stopped before and while it trains.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/run_program.h"
#include "support/sample_text.h"
#include "support/temporary_directory.h"

namespace reprise::test {
namespace {

namespace fs = std::filesystem;

class Streams : public ::testing::Test {
 protected:
  void SetUp() override { put_file(folder_ / "text.txt", sample_text(300)); }

  std::string at(const std::string& name) const { return folder_ / name; }

  /// `train` of a few steps into `out`, as words for a shell.
  std::string train(const std::string& out, const std::string& data, const std::string& steps = "2") const {
    return std::string(REPRISE_BINARY) +
           " train --model toy-gpt --threads 1 --micro_batch_size 2 --eval_batches 1 --log_interval 1 --max_steps " + steps + " --data " +
           data + " --out " + at(out);
  }
  std::string cat() const { return std::string("cat ") + at("text.txt") + " | "; }
  static ProgramResult shell(const std::string& command) { return run_program({"/bin/sh", "-c", command}); }
  std::string weights(const std::string& run) const { return get_file(at(run + "/model/model.safetensors")); }

  TemporaryDirectory folder_;
};

TEST_F(Streams, TextFromAPipe) {
  ASSERT_EQ(shell(train("file", at("text.txt"))).status, 0);
  const ProgramResult named = shell(cat() + train("named", "/dev/stdin"));
  ASSERT_EQ(named.status, 0) << named.err;
  EXPECT_TRUE(weights("named") == weights("file"));
  const ProgramResult dash = shell(cat() + train("dash", "-"));
  ASSERT_EQ(dash.status, 0) << dash.err;
  EXPECT_TRUE(weights("dash") == weights("file"));
}

TEST_F(Streams, StandardErrorIsFullOrClosed) {
  ASSERT_EQ(shell(train("file", at("text.txt"))).status, 0);
  EXPECT_EQ(shell(train("full", at("text.txt")) + " 2>/dev/full").status, 0);
  EXPECT_TRUE(weights("full") == weights("file"));
  // Without the streams, files must not take their numbers and be written into.
  EXPECT_EQ(shell(train("closed", at("text.txt")) + " 2>&- >&- <&-").status, 0);
  EXPECT_TRUE(weights("closed") == weights("file"));
  EXPECT_EQ(get_file(at("closed/config.toml")).find("validation loss"), std::string::npos);
  EXPECT_EQ(shell(std::string(REPRISE_BINARY) + " models nonesuch 2>/dev/full").status, 2);
}

TEST_F(Streams, ReaderOfTheProgressGoesAway) {
  const ProgramResult result = shell(train("run", at("text.txt"), "20") + " 2>&1 | head -1");
  EXPECT_TRUE(result.out.starts_with("data ")) << result.out;
  // The pipeline ends only when both sides have.
  EXPECT_TRUE(fs::exists(at("run/step-20/model.safetensors")));
}

TEST_F(Streams, StandardOutputIsFull) {
  ASSERT_EQ(shell(train("run", at("text.txt"))).status, 0);
  for (const char* mode : {"--stream", "--no_stream"}) {
    const ProgramResult result =
        shell(std::string(REPRISE_BINARY) + " generate " + at("run") + " --max_new_tokens 4 --quiet " + mode + " >/dev/full");
    EXPECT_EQ(result.status, 2);
    EXPECT_NE(result.err.find("cannot write standard output: no space left on device"), std::string::npos) << result.err;
  }
}

TEST_F(Streams, ResultsThatNobodyTakesAreAnError) {
  ASSERT_EQ(shell(train("run", at("text.txt"))).status, 0);
  put_file(at("t.txt"), "reprise trace 1\ntrace t {\n  input float32[4] %x batch\n  float32[4] %y = neg(%x)\n  output %y\n}\n");
  const std::vector<std::string> commands{"--help", "--version", "plan --help", "train --print_config", "completion bash", "info",
                                          "info --json -", "models", "models toy-gpt", "plan toy-gpt", "explain toy-gpt",
                                          "explain toy-gpt --value loss", "trace toy-gpt", "run-trace " + at("t.txt"),
                                          "eval " + at("run") + " --quiet --data " + at("text.txt"),
                                          "generate " + at("run") + " --max_new_tokens 4 --quiet"};
  for (const std::string& words : commands) {
    const std::string command = std::string(REPRISE_BINARY) + " " + words;
    ASSERT_EQ(shell(command).status, 0) << words;
    SCOPED_TRACE(words);
    expect_refusal(shell(command + " >/dev/full"), "cannot write standard output: no space left on device; free space and run again\n");
    expect_refusal(shell(command + " >&-"), "cannot write standard output: it is closed; run again with it open\n");
  }
  // What is kept in a folder is there whether or not anybody hears of it.
  EXPECT_EQ(shell(std::string(REPRISE_BINARY) + " export " + at("run") + " --out " + at("out") + " >&-").status, 0);
}

TEST_F(Streams, StoppedBeforeTheFirstStep) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    // Nobody writes into the pipe, so that the program waits for its text.
    RunningProgram program({REPRISE_BINARY, "train", "--model", "toy-gpt", "--data", at("pipe"), "--out", at("run"), "--overwrite"});
    int writer = -1;
    while ((writer = ::open(at("pipe").c_str(), O_WRONLY | O_NONBLOCK)) < 0) ::usleep(2000);  // fails until the other end is opened
    program.send(number);
    const ProgramResult result = program.wait();
    EXPECT_EQ(result.status, 128 + number) << result.err;
    EXPECT_NE(result.err.find("interrupted before the first step; continue with: reprise train --resume " + at("run")), std::string::npos)
        << result.err;
    ::close(writer);
    fs::remove_all(at("run"));
  }
}

TEST_F(Streams, TheTerminalGoesAway) {
  const std::vector<std::string> words{REPRISE_BINARY, "train", "--model", "toy-gpt", "--threads", "1", "--micro_batch_size", "2",
                                       "--val_data", "0", "--log_interval", "1", "--max_steps", "1000000", "--data", at("text.txt"),
                                       "--out", at("run")};
  RunningProgram program(words);
  ASSERT_TRUE(program.wait_for_err("step  "));
  program.send(SIGHUP);
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.status, 128 + SIGHUP) << result.err;
  EXPECT_TRUE(fs::exists(at("run/latest/state.json")));
}

}  // namespace
}  // namespace reprise::test

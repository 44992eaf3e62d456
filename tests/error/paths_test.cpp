// SPDX-License-Identifier: Apache-2.0
// Paths that the system does not let the program look into: each command says which path and why, with exit status 2.
#include <gtest/gtest.h>
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

class Paths : public ::testing::Test {
 protected:
  void SetUp() override { put_file(at("text.txt"), sample_text(300)); }
  std::string at(const std::string& name) const { return folder_ / name; }

  TemporaryDirectory folder_;
};

/// Every command that reads a model from a folder, with `model` for it.
std::vector<std::vector<std::string>> commands_with(const std::string& model, const std::string& text, const std::string& out) {
  return {{"eval", model, "--data", text},
          {"generate", model, "--max_new_tokens", "1"},
          {"export", model, "--out", out},
          {"plan", model},
          {"explain", model},
          {"trace", model},
          {"bench", model},
          {"models", model},
          {"train", "--data", text, "--out", out, "--init_from", model},
          {"train", "--resume", model}};
}

TEST_F(Paths, FolderIsALinkInACircle) {
  fs::create_symlink("circle", at("circle"));
  for (std::vector<std::string>& words : commands_with(at("circle"), at("text.txt"), at("bad"))) {
    SCOPED_TRACE(words[0]);
    expect_refusal(words, "too many symbolic links; check the path for a link that leads to itself");
  }
  EXPECT_FALSE(fs::exists(at("bad")));
}

TEST_F(Paths, FolderMayNotBeLookedInto) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can start a process of another user";
  constexpr uid_t kNobody = 65534;
  fs::permissions(folder_.path(), fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_read | fs::perms::others_exec);
  fs::create_directory(at("closed"));
  fs::permissions(at("closed"), fs::perms::owner_all);
  TemporaryDirectory open_to_all;
  fs::permissions(open_to_all.path(), fs::perms::all);
  for (std::vector<std::string>& words : commands_with(at("closed"), at("text.txt"), open_to_all / "out")) {
    words.insert(words.begin(), REPRISE_BINARY);
    const ProgramResult result = RunningProgram(words, kNobody).wait();
    if (result.status == 125 || result.status == 126 || result.status == 127) {
      GTEST_SKIP() << "the program cannot be run as another user here";
    }
    SCOPED_TRACE(words[1]);
    expect_refusal(result, "cannot read " + at("closed/"));
    expect_refusal(result, "permission denied; choose a path you have access to");
  }
}

TEST_F(Paths, DevicesNeedNotEnd) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run-trace", "/dev/zero"},
        {"plan", "toy-gpt", "--recompute", "ops:/dev/zero"},
        {"plan", "toy-gpt", "--recompute", "file:/dev/zero"},
        {"train", "--config", "/dev/zero"},
        {"train", "--data", at("text.txt"), "--out", at("bad"), "--model", "toy-gpt", "--tokenizer", "/dev/zero"}}) {
    SCOPED_TRACE(words.back());
    expect_refusal(words, "/dev/zero is a device, which need not end: copy what is wanted of it to a file");
  }
  EXPECT_FALSE(fs::exists(at("bad")));
}

TEST_F(Paths, TemporaryFolderIsMissing) {
  const ProgramResult trained =
      reprise_run({"train", "--data", at("text.txt"), "--out", at("good"), "--model", "toy-gpt", "--threads", "1", "--max_steps", "1"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  const std::string eval = std::string(REPRISE_BINARY) + " eval " + at("good") + " --threads 1 --quiet --data ";
  const ProgramResult plain = run_program({"/bin/sh", "-c", "TMPDIR=/nonexistent " + eval + at("text.txt")});
  EXPECT_EQ(plain.status, 0) << plain.err;
  const ProgramResult piped = run_program({"/bin/sh", "-c", "TMPDIR=/nonexistent " + eval + "- <" + at("text.txt")});
  EXPECT_EQ(piped.status, 2);
  EXPECT_EQ(piped.err, "reprise: TMPDIR must name a folder, for what is kept for a while only: /nonexistent\n");
}

}  // namespace
}  // namespace reprise::test

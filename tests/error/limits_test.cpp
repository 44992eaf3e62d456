// SPDX-License-Identifier: Apache-2.0
// The built program where the system gives less than it wants: threads and file sizes. Each refusal is one line with its exit status.
#include <gtest/gtest.h>

#include <string>

#include "support/run_program.h"
#include "support/sample_text.h"
#include "support/temporary_directory.h"

namespace reprise::test {
namespace {

class Limits : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_ / name; }

  /// Runs `reprise WORDS` in a shell after `before`.
  static ProgramResult shell(const std::string& before, const std::string& words) {
    return run_program({"/bin/sh", "-c", before + "; exec " + REPRISE_BINARY + " " + words});
  }

  TemporaryDirectory folder_;
};

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they take terabytes of addresses themselves
TEST_F(Limits, ThreadsThatCannotAllBeStarted) {
  put_file(at("t.txt"), "reprise trace 1\ntrace t {\n  input float32[4] %x batch\n  float32[4] %y = neg(%x)\n  output %y\n}\n");
  ASSERT_EQ(shell("true", "run-trace " + at("t.txt") + " --threads 2").status, 0);
  // A stack takes some megabytes of addresses: hundreds of threads are made, not thousands.
  expect_refusal(shell("ulimit -s 8192; ulimit -v 3000000", "run-trace " + at("t.txt") + " --threads 4096"),
                 "cannot start 4096 threads: Resource temporarily unavailable; use fewer with --threads / ExecutionOptions::threads "
                 "or raise the limit",
                 4);
}
#endif

TEST_F(Limits, FilesThatMayNotGrow) {
  put_file(at("text.txt"), sample_text(300));
  const std::string train =
      "train --quiet --model toy-gpt --threads 1 --max_steps 1 --val_data 0 --data " + at("text.txt") + " --out " + at("run");
  const ProgramResult result = shell("ulimit -f 100", train);  // some tens of kilobytes: less than the weights
  expect_refusal(result, "the file is too large; raise the limit (ulimit -f), or use a file system that takes larger files");
}

}  // namespace
}  // namespace reprise::test

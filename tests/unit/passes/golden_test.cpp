// SPDX-License-Identifier: Apache-2.0
// Golden traces: NAME.in.trace says in its first line which passes to run, NAME.out.trace is the text expected after them.
// With REPRISE_UPDATE_GOLDEN set the expected texts are written anew, to be read before they are committed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "ir/parser.h"
#include "ir/printer.h"
#include "ops/verifier.h"
#include "passes/pass_manager.h"
#include "support/source_directory.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(test::source_directory() / "tests/golden/passes")) {
    const std::string file = entry.path().filename().string();
    if (file.ends_with(".in.trace")) names.push_back(file.substr(0, file.size() - 9));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Pass> passes_of(const std::string& text) {
  const std::string start = "# passes: ";
  EXPECT_TRUE(text.starts_with(start)) << "the first line must be '# passes: NAME, ...'";
  std::stringstream line(text.substr(start.size(), text.find('\n') - start.size()));
  std::vector<Pass> passes;
  for (std::string name; std::getline(line >> std::ws, name, ',');) passes.push_back(find_pass(name));
  return passes;
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, TextIsAsExpected) {
  const fs::path folder = test::source_directory() / "tests/golden/passes";
  const std::string input = test::get_file(folder / (GetParam() + ".in.trace"));
  const Trace trace = parse_trace(input, GetParam());
  ASSERT_TRUE(verify(trace).empty()) << verify(trace)[0];
  PassOptions options;
  options.compare = true;
  const std::vector<Pass> passes = passes_of(input);
  const Trace result = run_passes(trace, passes, options);
  const std::string text = print_trace(result);
  const fs::path expected = folder / (GetParam() + ".out.trace");
  if (std::getenv("REPRISE_UPDATE_GOLDEN") != nullptr) test::put_file(expected, text);
  EXPECT_EQ(text, test::get_file(expected));
  EXPECT_TRUE(parse_trace(text) == result);
  EXPECT_EQ(print_trace(run_passes(result, passes)), text) << "run again, the passes change something";
}

INSTANTIATE_TEST_SUITE_P(Passes, Golden, ::testing::ValuesIn(cases()), [](const auto& one) { return one.param; });

}  // namespace
}  // namespace reprise

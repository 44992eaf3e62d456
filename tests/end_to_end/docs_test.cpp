// SPDX-License-Identifier: Apache-2.0
// The documents show what the program prints: every command of a console block is run and its output compared.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "support/run_program.h"
#include "support/source_directory.h"
#include "support/temporary_directory.h"

namespace reprise::test {
namespace {

struct Example {
  std::string command;
  std::string output;
};

/// The commands of all ```console blocks of a Markdown text, each with the lines below it.
std::vector<Example> console_examples(const std::string& markdown) {
  std::vector<Example> examples;
  std::istringstream stream(markdown);
  bool inside = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("```")) {
      inside = line == "```console";
    } else if (inside && line.starts_with("$ ")) {
      examples.push_back({line.substr(2), ""});
    } else if (inside) {
      examples.back().output += line + "\n";
    }
  }
  return examples;
}

TEST(Documents, TraceShowsWhatTheProgramPrints) {
  const std::filesystem::path source = test::source_directory();
  const std::vector<Example> examples = console_examples(get_file(source / "docs/trace.md"));
  ASSERT_GE(examples.size(), 5U);
  const std::string folder = std::filesystem::path(REPRISE_BINARY).parent_path();
  for (const Example& example : examples) {
    const std::string script = "cd '" + source.string() + "'; PATH='" + folder + "':$PATH; { " + example.command + "; } 2>&1";
    EXPECT_EQ(run_program({"/bin/sh", "-c", script}).out, example.output) << example.command;
  }
}

TEST(Documents, TraceShowsTheExampleFile) {
  const std::filesystem::path source = test::source_directory();
  EXPECT_NE(get_file(source / "docs/trace.md").find("```\n" + get_file(source / "docs/example.trace") + "```\n"), std::string::npos);
}

/// Whether the README's links to files of the repository lead somewhere.
TEST(Documents, LinksLeadToFiles) {
  const std::filesystem::path source = test::source_directory();
  const std::string text = get_file(source / "README.md");
  ASSERT_FALSE(text.empty());
  for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
    const std::string target = text.substr(at + 2, text.find_first_of("#)", at) - at - 2);
    if (target.starts_with("http") || target.empty()) continue;
    EXPECT_TRUE(std::filesystem::exists(source / target)) << target;
  }
}

TEST(Documents, EveryFileSaysItsLicense) {
  const std::filesystem::path source = test::source_directory();
  for (const char* folder : {"src", "tests", "cmake", "tools", "configs", "docs"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source / folder)) {
      const std::string extension = entry.path().extension();
      const bool code = extension == ".h" || extension == ".cpp" || extension == ".cmake" || extension == ".def" || extension == ".py" ||
                        extension == ".toml" || extension == ".md" || entry.path().filename() == "CMakeLists.txt" || std::string_view(folder) == "tools";
      if (!entry.is_regular_file() || !code) continue;
      EXPECT_NE(get_file(entry.path()).substr(0, 200).find("SPDX-License-Identifier: Apache-2.0"), std::string::npos) << entry.path();
    }
  }
}

}  // namespace
}  // namespace reprise::test

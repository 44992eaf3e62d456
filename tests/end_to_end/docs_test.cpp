// SPDX-License-Identifier: Apache-2.0
// The documents show what the program prints: every command of a console block is run and its output compared.
#include <gtest/gtest.h>

#include <cstdlib>
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

/// What a command of a document prints, run where the repository lies.
std::string output_of(const std::string& command) {
  const std::string folder = std::filesystem::path(REPRISE_BINARY).parent_path();
  const std::string script = "cd '" + test::source_directory().string() + "'; PATH='" + folder + "':$PATH; { " + command + "; } 2>&1";
  return run_program({"/bin/sh", "-c", script}).out;
}

/// With REPRISE_UPDATE_DOCS, documents are written anew instead of compared.
bool updating() { return std::getenv("REPRISE_UPDATE_DOCS") != nullptr; }

TEST(Documents, ShowWhatTheProgramPrints) {
  std::size_t count = 0;
  for (const char* document : {"docs/trace.md", "docs/recompute.md"}) {
    const std::filesystem::path path = test::source_directory() / document;
    std::string text = get_file(path);
    for (const Example& example : console_examples(text)) {
      ++count;
      const std::string output = output_of(example.command);
      if (updating()) {
        const std::size_t at = text.find("$ " + example.command + "\n" + example.output) + example.command.size() + 3;
        text.replace(at, example.output.size(), output);
      } else {
        EXPECT_EQ(output, example.output) << path << ": " << example.command;
      }
    }
    if (updating()) put_file(path, text);
  }
  EXPECT_GE(count, 8U);
}

TEST(Documents, ShowPicturesThatTheProgramDraws) {
  const std::filesystem::path source = test::source_directory();
  std::istringstream stream(get_file(source / "docs/recompute.md"));
  std::size_t count = 0;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t at = line.find("docs/pictures/");
    if (!line.starts_with("reprise plan ") || at == std::string::npos) continue;
    const std::string picture = output_of(line.substr(0, at) + "-");
    if (updating()) put_file(source / line.substr(at), picture);
    EXPECT_TRUE(picture == get_file(source / line.substr(at))) << "draw it again: " << line;
    ++count;
  }
  EXPECT_EQ(count, 2U);
}

TEST(Documents, TraceShowsTheExampleFile) {
  const std::filesystem::path source = test::source_directory();
  EXPECT_NE(get_file(source / "docs/trace.md").find("```\n" + get_file(source / "docs/example.trace") + "```\n"), std::string::npos);
}

/// A document without its blocks of code.
std::string prose(const std::string& markdown) {
  std::string text;
  std::istringstream stream(markdown);
  bool inside = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("```")) inside = !inside;
    if (!inside) text += line + "\n";
  }
  return text;
}

/// Whether links to files of the repository lead somewhere.
TEST(Documents, LinksLeadToFiles) {
  const std::filesystem::path source = test::source_directory();
  std::vector<std::filesystem::path> documents = {source / "README.md"};
  for (const auto& entry : std::filesystem::directory_iterator(source / "docs")) {
    if (entry.path().extension() == ".md") documents.push_back(entry.path());
  }
  EXPECT_GE(documents.size(), 9U);
  for (const std::filesystem::path& document : documents) {
    const std::string text = prose(get_file(document));
    ASSERT_FALSE(text.empty()) << document;
    for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
      const std::string target = text.substr(at + 2, text.find_first_of("#)", at) - at - 2);
      if (target.starts_with("http") || target.empty()) continue;
      EXPECT_TRUE(std::filesystem::exists(document.parent_path() / target)) << document << ": " << target;
    }
  }
}

TEST(Documents, EveryFileSaysItsLicense) {
  const std::filesystem::path source = test::source_directory();
  for (const char* folder : {"src", "tests", "cmake", "tools", "configs", "docs"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source / folder)) {
      const std::string extension = entry.path().extension();
      const bool code = extension == ".h" || extension == ".cpp" || extension == ".cmake" || extension == ".def" || extension == ".py" ||
                        extension == ".toml" || extension == ".md" || entry.path().filename() == "CMakeLists.txt" ||
                        std::string_view(folder) == "tools";
      if (!entry.is_regular_file() || !code) continue;
      EXPECT_NE(get_file(entry.path()).substr(0, 200).find("SPDX-License-Identifier: Apache-2.0"), std::string::npos) << entry.path();
    }
  }
}

}  // namespace
}  // namespace reprise::test

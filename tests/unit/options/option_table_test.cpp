// SPDX-License-Identifier: Apache-2.0
#include "options/option_table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "options/completion.h"
#include "options/help_text.h"
#include "options/option_value.h"
#include "support/source_directory.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

int shell(const std::string& command) { return std::system(command.c_str()); }

TEST(OptionTable, EveryRowIsWellFormed) {
  for (const OptionRow& row : option_table()) {
    EXPECT_EQ(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string_view::npos) << row.name;
    EXPECT_FALSE(row.name.starts_with("no_")) << row.name;
    EXPECT_NE(row.commands, 0u) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_FALSE(row.help.ends_with('.')) << row.name;
    EXPECT_EQ(row.kind == OptionKind::flag, row.default_text == "True" || row.default_text == "False") << row.name;
    EXPECT_TRUE(row.kind != OptionKind::choice || !row.choices.empty()) << row.name;
    if (!row.default_text.empty()) {
      EXPECT_NO_THROW(parse_option_value(row, row.default_text, row.name)) << row.name;
    }
  }
}

TEST(OptionTable, NamesAndAliasesAreUniquePerCommand) {
  for (const CommandRow& command : command_table()) {
    std::set<std::string_view> names;
    for (const OptionRow* row : options_of(command.command)) {
      EXPECT_TRUE(names.insert(row->name).second) << command.name << " " << row->name;
      for (const std::string_view alias : split(row->aliases, ' ')) EXPECT_TRUE(names.insert(alias).second) << command.name << " " << alias;
    }
    EXPECT_TRUE(names.contains("help"));
    if (!command.positional.empty()) {
      EXPECT_TRUE(names.contains(command.positional)) << command.name;
    }
  }
}

TEST(OptionTable, AWordMeansOneKindEverywhere) {
  std::map<std::string_view, OptionKind> kinds;
  for (const OptionRow& row : option_table()) {
    if (row.name == "out") continue;  // train's is a folder, trace's a file: both paths
    EXPECT_EQ(kinds.emplace(row.name, row.kind).first->second, row.kind) << row.name;
  }
}

TEST(HelpText, ListsEveryCommandAndOption) {
  for (const CommandRow& command : command_table()) {
    EXPECT_NE(general_help_text().find("  " + std::string(command.name) + " "), std::string::npos);
    const std::string text = command_help_text(command.command);
    EXPECT_NE(text.find("Usage: reprise " + std::string(command.name)), std::string::npos);
    for (const OptionRow* row : options_of(command.command)) {
      const bool on = row->kind == OptionKind::flag && row->default_text == "True";
      EXPECT_NE(text.find((on ? "  --no_" : "  --") + std::string(row->name)), std::string::npos) << row->name;
    }
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t end = text.find('\n', begin);
      EXPECT_LE(end - begin, 100u) << text.substr(begin, end - begin);
      begin = end + 1;
    }
  }
}

TEST(HelpText, ShowsDefaultsChoicesAndAliases) {
  const std::string text = command_help_text(Command::bench);
  EXPECT_NE(text.find("  --max_iters N                   iterations in all [45]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("--compile reprise|eager"), std::string::npos);
  EXPECT_NE(text.find("[also --model_name]"), std::string::npos);
  EXPECT_NE(command_help_text(Command::generate).find("--no_stream                     do not print text as it is written"),
            std::string::npos);
}

/// docs/cli.md is the generated text; with REPRISE_UPDATE_DOCS set the test writes it.
TEST(HelpText, ReferenceDocumentIsCurrent) {
  const std::filesystem::path path = test::source_directory() / "docs/cli.md";
  if (std::getenv("REPRISE_UPDATE_DOCS") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    test::put_file(path, reference_markdown());
  }
  EXPECT_TRUE(test::get_file(path) == reference_markdown()) << "run this test with REPRISE_UPDATE_DOCS=1 to write docs/cli.md again";
}

TEST(HelpText, ManPageHasEveryOption) {
  const std::string text = man_page_text("1.2.3");
  EXPECT_TRUE(text.starts_with(".\\\" SPDX-License-Identifier: Apache-2.0\n.TH REPRISE 1 \"\" \"reprise 1.2.3\"\n"));
  for (const char* part : {".SH SYNOPSIS", ".SH \"run\\-trace\"", "\\fB\\-\\-max_steps N\\fR", ".SH \"EXIT STATUS\""}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST(HelpText, ManPageFormatsWithoutWarnings) {
  if (shell("command -v groff > /dev/null") != 0) GTEST_SKIP() << "no groff here";
  const test::TemporaryDirectory folder;
  test::put_file(folder / "reprise.1", man_page_text("1.2.3"));
  const std::string page = (folder / "page").string();
  EXPECT_EQ(shell("groff -man -Tascii -ww '" + (folder / "reprise.1").string() + "' > '" + page + "' 2> '" + page + ".warnings'"), 0);
  EXPECT_EQ(test::get_file(page + ".warnings"), "");
  EXPECT_NE(test::get_file(page).find("max_steps"), std::string::npos);
}

/// What bash offers for a line, one word a line.
std::string bash_offers(const test::TemporaryDirectory& folder, const std::string& words) {
  test::put_file(folder / "script", completion_script("bash") +
                                        "\nCOMP_WORDS=(" + words + ")\nCOMP_CWORD=$((${#COMP_WORDS[@]}-1))\n_reprise\n" +
                                        "printf '%s\\n' \"${COMPREPLY[@]}\"\n");
  EXPECT_EQ(shell("bash -eu '" + (folder / "script").string() + "' > '" + (folder / "offers").string() + "'"), 0);
  return test::get_file(folder / "offers");
}

TEST(Completion, BashOffersCommandsOptionsAndChoices) {
  if (shell("command -v bash > /dev/null") != 0) GTEST_SKIP() << "no bash here";
  const test::TemporaryDirectory folder;
  EXPECT_EQ(bash_offers(folder, "reprise tra"), "train\ntrace\n");
  EXPECT_EQ(bash_offers(folder, "reprise train --max_t"), "--max_tokens\n--max_time\n");
  EXPECT_EQ(bash_offers(folder, "reprise bench --compile ''"), "reprise\neager\n");
  EXPECT_EQ(bash_offers(folder, "reprise generate --no_s"), "--no_stream\n");
  EXPECT_EQ(bash_offers(folder, "reprise completion z"), "zsh\n");
  EXPECT_EQ(bash_offers(folder, "reprise train --data '" + (folder / "scr").string() + "'"), (folder / "script").string() + "\n");
}

TEST(Completion, ScriptsParseWhereTheShellIsInstalled) {
  const test::TemporaryDirectory folder;
  for (const std::string name : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script(name);
    for (const OptionRow& row : option_table()) EXPECT_NE(script.find(row.name), std::string::npos) << name << " " << row.name;
    test::put_file(folder / name, script);
    if (shell("command -v " + name + " > /dev/null") == 0) {
      EXPECT_EQ(shell(name + " -n '" + (folder / name).string() + "'"), 0) << name;
    }
  }
}

}  // namespace
}  // namespace reprise

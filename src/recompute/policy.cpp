// SPDX-License-Identifier: Apache-2.0
#include "recompute/policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "base/error.h"
#include "base/nearest.h"

namespace reprise {
namespace {

using Kind = PolicySpec::Kind;

enum class Argument : std::uint8_t { none, optional, required };

struct KindRow {
  std::string_view name;
  Kind kind;
  Argument argument;
  std::string_view form;  // how it is written
};

constexpr std::array<KindRow, 9> kRows{{
    {"none", Kind::none, Argument::none, "none"},
    {"tags", Kind::tags, Argument::none, "tags"},
    {"full", Kind::full, Argument::none, "full"},
    {"layers", Kind::layers, Argument::required, "layers:N"},
    {"ops", Kind::ops, Argument::optional, "ops[:FILE]"},
    {"alternate", Kind::alternate, Argument::optional, "alternate[:GLOB,...]"},
    {"regions", Kind::regions, Argument::required, "regions:GLOB,..."},
    {"auto", Kind::automatic, Argument::none, "auto"},
    {"file", Kind::file, Argument::required, "file:PLAN"},
}};

const KindRow& row_of(Kind kind) {
  return *std::find_if(kRows.begin(), kRows.end(), [&](const KindRow& row) { return row.kind == kind; });
}

[[noreturn]] void fail(std::string_view text, std::string_view hint) {
  std::string forms;
  for (const KindRow& row : kRows) forms += fmt::format("{}{}", forms.empty() ? "" : ", ", row.form);
  throw UserError(fmt::format("the recompute policy '{}' is none of {}{}", text, forms, hint));
}

std::vector<std::string> split_globs(std::string_view text, std::string_view whole) {
  std::vector<std::string> globs;
  while (true) {
    const std::size_t comma = text.find(',');
    if (comma == 0 || text.empty()) throw UserError(fmt::format("a name is missing in the recompute policy '{}'", whole));
    globs.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return globs;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string PolicySpec::str() const {
  const std::string_view name = row_of(kind).name;
  if (kind == Kind::layers) return fmt::format("{}:{}", name, every);
  if (!path.empty()) return fmt::format("{}:{}", name, path);
  if (!globs.empty()) return fmt::format("{}:{}", name, fmt::join(globs, ","));
  return std::string(name);
}

PolicySpec parse_policy(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  if (word == "budget") {
    throw UserError(fmt::format("the recompute policy '{}' needs the planner of budgets, which this version does not have; auto, full and ops are near it", text));
  }
  const auto* const row = std::find_if(kRows.begin(), kRows.end(), [&](const KindRow& one) { return one.name == word; });
  if (row == kRows.end()) {
    std::array<std::string_view, kRows.size()> names;
    std::transform(kRows.begin(), kRows.end(), names.begin(), [](const KindRow& one) { return one.name; });
    fail(text, nearest_hint(word, names));
  }
  PolicySpec spec;
  spec.kind = row->kind;
  if (colon == std::string_view::npos) {
    if (row->argument == Argument::required) throw UserError(fmt::format("the recompute policy {} is written {}", word, row->form));
    return spec;
  }
  const std::string_view argument = text.substr(colon + 1);
  if (row->argument == Argument::none || argument.empty()) {
    throw UserError(fmt::format("the recompute policy {} is written {}, not '{}'", word, row->form, text));
  }
  switch (spec.kind) {
    case Kind::layers: {
      const auto [end, error] = std::from_chars(argument.data(), argument.data() + argument.size(), spec.every);
      if (error != std::errc() || end != argument.data() + argument.size() || spec.every < 1) {
        throw UserError(fmt::format("layers:N needs a whole number from 1, not '{}'", argument));
      }
      break;
    }
    case Kind::ops:
    case Kind::file: spec.path = argument; break;
    default: spec.globs = split_globs(argument, text);
  }
  return spec;
}

}  // namespace reprise

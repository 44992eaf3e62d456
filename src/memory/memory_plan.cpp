// SPDX-License-Identifier: Apache-2.0
// The text form of a memory plan.
#include "memory/memory_plan.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/error.h"

namespace reprise {
namespace {

constexpr std::string_view kHeader = "memory_plan 1";

/// Words of one line, taken one after another.
class Words {
 public:
  Words(std::string_view line, std::size_t number) : rest_(line), number_(number) {}

  [[noreturn]] void fail(std::string_view wanted) const {
    throw UserError(fmt::format("a memory plan that cannot be read: line {}: expected {}", number_, wanted));
  }
  std::optional<std::string_view> maybe() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    if (rest_.empty()) return std::nullopt;
    const std::string_view word = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(word.size());
    return word;
  }
  std::string_view word(std::string_view wanted) {
    const auto found = maybe();
    if (!found) fail(wanted);
    return *found;
  }
  void expect(std::string_view literal) {
    if (word(literal) != literal) fail(literal);
  }
  std::int64_t number(std::string_view wanted) {
    const std::string_view text = word(wanted);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) fail(wanted);
    return value;
  }

 private:
  std::string_view rest_;
  std::size_t number_;
};

}  // namespace

std::string MemoryPlan::str() const {
  std::string text = fmt::format("{} {}\n", kHeader, name);
  text += fmt::format("transient {} bound {} library {}\n", transient_bytes, bound_bytes, library_bytes);
  for (const StoragePlan& storage : storages) {
    if (storage.slot.empty()) {
      text += fmt::format("at {} bytes {} value {}", storage.offset, storage.bytes, storage.value);
    } else {
      text += fmt::format("slot {} bytes {} value {}", storage.slot, storage.bytes, storage.value);
    }
    if (!storage.onto.empty()) text += fmt::format(" onto {}", storage.onto);
    text += '\n';
  }
  for (const WorkspacePlan& workspace : workspaces) {
    text += fmt::format("workspace {} at {} bytes {}\n", workspace.node, workspace.offset, workspace.bytes);
  }
  return text;
}

MemoryPlan parse_memory_plan(std::string_view text) {
  MemoryPlan plan;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t length = text.find('\n');
    const std::string_view line = text.substr(0, length);
    text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
    Words words(line, ++number);
    if (number == 1) {
      words.expect("memory_plan");
      words.expect("1");
      plan.name = words.word("a name");
    } else if (number == 2) {
      words.expect("transient");
      plan.transient_bytes = words.number("bytes");
      words.expect("bound");
      plan.bound_bytes = words.number("bytes");
      words.expect("library");
      plan.library_bytes = words.number("bytes");
    } else {
      const std::string_view kind = words.word("at, slot or workspace");
      if (kind == "workspace") {
        WorkspacePlan workspace;
        workspace.node = static_cast<std::uint32_t>(words.number("a node"));
        words.expect("at");
        workspace.offset = words.number("an offset");
        words.expect("bytes");
        workspace.bytes = words.number("bytes");
        plan.workspaces.push_back(workspace);
      } else if (kind == "at" || kind == "slot") {
        StoragePlan storage;
        if (kind == "at") {
          storage.offset = words.number("an offset");
        } else {
          storage.slot = words.word("a slot");
        }
        words.expect("bytes");
        storage.bytes = words.number("bytes");
        words.expect("value");
        storage.value = words.word("a value");
        if (const auto onto = words.maybe()) {
          if (*onto != "onto") words.fail("onto");
          storage.onto = words.word("a value");
        }
        plan.storages.push_back(std::move(storage));
      } else {
        words.fail("at, slot or workspace");
      }
    }
    if (words.maybe()) words.fail("the end of the line");
  }
  if (number < 2) throw UserError(fmt::format("a memory plan that cannot be read: line {}: expected {}", number + 1, number == 0 ? kHeader : "transient"));
  return plan;
}

}  // namespace reprise

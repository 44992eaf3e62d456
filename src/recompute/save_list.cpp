// SPDX-License-Identifier: Apache-2.0
#include "recompute/save_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "base/shown_text.h"
#include "ops/op_table.h"

namespace reprise {
namespace {

bool by_name(Opcode a, Opcode b) { return opcode_name(a) < opcode_name(b); }

void add_named(SaveList& list, std::string_view name, std::string_view where) {
  if (name == "default") return list.add_default();
  if (const std::optional<Opcode> opcode = find_opcode(name)) return list.add(*opcode);
  std::vector<std::string_view> known = {"default"};
  for (std::size_t i = 0; i < opcode_count(); ++i) known.push_back(opcode_name(Opcode{static_cast<std::uint16_t>(i)}));
  const std::string shown = shown_text(name);  // a file that is no list may hold anything, in lines of any length
  throw UserError(fmt::format("{}: no op is called '{}'{}", where, shown, nearest_hint(shown, known)));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

bool SaveList::contains(Opcode opcode) const { return std::binary_search(ops_.begin(), ops_.end(), opcode, by_name); }

void SaveList::add(Opcode opcode) {
  const auto place = std::lower_bound(ops_.begin(), ops_.end(), opcode, by_name);
  if (place == ops_.end() || *place != opcode) ops_.insert(place, opcode);
}

void SaveList::add_default() {
  takes_default_ = true;
  for (std::size_t i = 0; i < opcode_count(); ++i) {
    const Opcode opcode{static_cast<std::uint16_t>(i)};
    if (has_trait(op_row(opcode).traits, Trait::matmul | Trait::collective)) add(opcode);
  }
  add(op::amax);
  add(op::topk);
}

std::vector<std::string> SaveList::names() const {
  std::vector<std::string> names;
  for (const Opcode opcode : ops_) names.emplace_back(opcode_name(opcode));
  return names;
}

SaveList default_save_list() {
  SaveList list;
  list.add_default();
  return list;
}

SaveList save_list_of(const std::vector<std::string>& names, std::string_view where) {
  SaveList list;
  for (const std::string& name : names) add_named(list, name, where);
  return list;
}

SaveList parse_save_list(std::string_view text, std::string_view file) {
  SaveList list;
  text = without_byte_order_mark(text);
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    std::string_view content = text.substr(0, end);
    content = trimmed(content.substr(0, content.find('#')));
    if (!content.empty()) add_named(list, content, fmt::format("{}:{}", file, line));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return list;
}

}  // namespace reprise

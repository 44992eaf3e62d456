// SPDX-License-Identifier: Apache-2.0
#include "base/interned.h"

#include <deque>
#include <mutex>
#include <unordered_map>

namespace reprise {
namespace {

struct Table {
  std::mutex mutex;
  std::deque<std::string> strings{""};  // a deque never moves its elements
  std::unordered_map<std::string_view, std::uint32_t> ids;
};

Table& table() {
  static Table* const instance = new Table;  // never destroyed: static objects elsewhere may hold interned strings
  return *instance;
}

}  // namespace

Interned::Interned(std::string_view text) {
  if (text.empty()) return;
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const auto found = all.ids.find(text);
  if (found != all.ids.end()) {
    id_ = found->second;
    return;
  }
  id_ = static_cast<std::uint32_t>(all.strings.size());
  all.strings.emplace_back(text);
  all.ids.emplace(all.strings.back(), id_);
}

std::string_view Interned::view() const {
  if (id_ == 0) return {};
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  return all.strings[id_];
}

}  // namespace reprise

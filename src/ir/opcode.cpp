// SPDX-License-Identifier: Apache-2.0
#include "ir/opcode.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "base/error.h"

namespace reprise {
namespace {

constexpr std::string_view kBuiltinNames[] = {
#define REPRISE_OP(name, attrs) #name,
#include "ir/opcodes.def"
#undef REPRISE_OP
};

struct Registry {
  std::mutex mutex;
  std::deque<std::string> user_names;
  std::map<std::string_view, Opcode> by_name;

  Registry() {
    for (std::size_t i = 0; i < kBuiltinOpcodeCount; ++i) {
      by_name.emplace(kBuiltinNames[i], Opcode{static_cast<std::uint16_t>(i)});
    }
  }
};

Registry& registry() {
  static Registry* const instance = new Registry;  // never destroyed: static objects elsewhere use opcodes
  return *instance;
}

}  // namespace

std::string_view opcode_name(Opcode opcode) {
  if (opcode.index < kBuiltinOpcodeCount) return kBuiltinNames[opcode.index];
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  return all.user_names.at(opcode.index - kBuiltinOpcodeCount);
}

std::optional<Opcode> find_opcode(std::string_view name) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_name.find(name);
  if (found == all.by_name.end()) return std::nullopt;
  return found->second;
}

std::size_t opcode_count() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  return kBuiltinOpcodeCount + all.user_names.size();
}

Opcode register_opcode(std::string_view name) {
  const bool well_formed = !name.empty() && name.front() >= 'a' && name.front() <= 'z' && name.back() != '_' &&
                           std::all_of(name.begin(), name.end(), [](char c) {
                             return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
                           });
  if (!well_formed) {
    throw UserError(fmt::format("an op's name is snake_case, starts with a letter and does not end in '_': '{}'", name));
  }
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (all.by_name.contains(name)) throw UserError(fmt::format("an op of this name exists already, choose another: '{}'", name));
  const Opcode opcode{static_cast<std::uint16_t>(kBuiltinOpcodeCount + all.user_names.size())};
  all.user_names.emplace_back(name);
  all.by_name.emplace(all.user_names.back(), opcode);
  return opcode;
}

}  // namespace reprise

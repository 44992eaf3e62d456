// SPDX-License-Identifier: Apache-2.0
#include "executor/executor_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "executor/loops/executor.h"
#include "executor/onednn/executor.h"
#include "executor/reference_executor.h"

namespace reprise {
namespace {

constexpr std::string_view kNames[] = {"onednn", "loops", "reference"};

const Executor* executor_called(std::string_view name) {
  if (name == "onednn") return &onednn_executor();
  if (name == "loops") return &loops_executor();
  if (name == "reference") return &reference_executor();
  return nullptr;
}

}  // namespace

std::span<const std::string_view> executor_names() { return kNames; }

ExecutorList make_executor_list(std::string_view names) {
  ExecutorList list;
  for (;;) {
    const std::size_t comma = names.find(',');
    const std::string_view name = names.substr(0, comma);
    const Executor* const executor = executor_called(name);
    if (executor == nullptr) {
      throw UserError(
          fmt::format("there is no executor '{}'{}; there are: {}", name, nearest_hint(name, executor_names()), fmt::join(kNames, ", ")));
    }
    if (std::find(list.begin(), list.end(), executor) != list.end()) throw UserError(fmt::format("an executor given twice: {}", name));
    list.push_back(executor);
    if (comma == std::string_view::npos) return list;
    names.remove_prefix(comma + 1);
  }
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
#include "ops/op_table.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"
#include "ops/row_families.h"

namespace reprise {
namespace {

struct Table {
  std::mutex mutex;
  std::vector<std::optional<OpRow>> builtin{kBuiltinOpcodeCount};
  std::map<Opcode, OpRow> user;  // a map never moves its elements

  Table() {
    for (auto* family : {constant_rows, pointwise_rows, binary_rows, reduction_rows, scan_rows, softmax_rows, order_rows, random_rows,
                         optimizer_rows, view_rows, window_rows, movement_rows, index_rows, embedding_rows, matmul_rows, norm_rows,
                         rope_rows, loss_rows, attention_rows, region_rows, collective_rows}) {
      for (OpRow& row : family()) {
        auto& place = builtin.at(row.opcode.index);
        REPRISE_CHECK(!place.has_value(), fmt::format("two rows for op {}", opcode_name(row.opcode)));
        place = std::move(row);
      }
    }
  }
};

Table& table() {
  static Table* const instance = new Table;  // never destroyed: rows are used until the last thread ends
  return *instance;
}

thread_local std::vector<Opcode>* registered_here = nullptr;  // by calls on this thread, while somebody asks

}  // namespace

const OpRow& op_row(Opcode opcode) {
  Table& all = table();
  if (opcode.index < kBuiltinOpcodeCount) {
    const auto& row = all.builtin[opcode.index];
    REPRISE_CHECK(row.has_value(), fmt::format("op {} has no row", opcode_name(opcode)));
    return *row;
  }
  const std::lock_guard lock(all.mutex);
  const auto found = all.user.find(opcode);
  REPRISE_CHECK(found != all.user.end(), fmt::format("op {} has no row", opcode_name(opcode)));
  return found->second;
}

Opcode register_op(std::string_view name, OpRow row) {
  if (!row.infer) throw UserError(fmt::format("a user op needs `infer`: {}", name));
  if (!row.decompose && !row.evaluate) {
    throw UserError(fmt::format("a user op needs `decompose`, or `evaluate` where it is opaque: {}", name));
  }
  if (!row.decompose && !row.cost) throw UserError(fmt::format("an opaque user op needs `cost`: {}", name));
  if (row.decompose && row.workspace) {
    throw UserError(fmt::format("only an opaque user op takes a workspace; leave out `workspace` or `decompose`: {}", name));
  }
  if (has_trait(row.traits, Trait::view) != static_cast<bool>(row.layout)) {
    throw UserError(fmt::format("a user op that is a view has the trait `view` and a `layout`, any other has neither: {}", name));
  }
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const Opcode opcode = row.opcode = register_opcode(name);
  all.user.emplace(opcode, std::move(row));
  if (registered_here != nullptr) registered_here->push_back(opcode);
  return opcode;
}

std::vector<Opcode> ops_registered_by(const std::function<void()>& call) {
  std::vector<Opcode> registered;
  std::vector<Opcode>* const outer = std::exchange(registered_here, &registered);
  try {
    call();
  } catch (...) {
    registered_here = outer;
    throw;
  }
  registered_here = outer;
  return registered;
}

void fail_op(Opcode opcode, std::string_view what) {
  const std::string text = fmt::format("the op '{}' {}", opcode_name(opcode), what);
  if (is_user_op(opcode)) throw UserError(text);
  throw InternalError(text);
}

bool compiled_as_parts(const OpRow& row) { return is_user_op(row.opcode) && static_cast<bool>(row.decompose); }

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// The op table: one row per opcode. Built-in rows are gathered once; users register more.
#pragma once

#include <vector>

#include "ops/row.h"

namespace reprise {

/// Returns the row of `opcode`; InternalError when it has none.
const OpRow& op_row(Opcode opcode);
/// Adds a user op's row under `name`; UserError when the name is taken or a needed column is empty.
Opcode register_op(std::string_view name, OpRow row);

// The families, one file each.
std::vector<OpRow> constant_rows();
std::vector<OpRow> pointwise_rows();
std::vector<OpRow> binary_rows();
std::vector<OpRow> reduction_rows();
std::vector<OpRow> scan_rows();
std::vector<OpRow> softmax_rows();
std::vector<OpRow> order_rows();
std::vector<OpRow> random_rows();
std::vector<OpRow> optimizer_rows();
std::vector<OpRow> view_rows();
std::vector<OpRow> movement_rows();
std::vector<OpRow> index_rows();
std::vector<OpRow> matmul_rows();
std::vector<OpRow> norm_rows();
std::vector<OpRow> rope_rows();
std::vector<OpRow> loss_rows();
std::vector<OpRow> attention_rows();
std::vector<OpRow> region_rows();
std::vector<OpRow> collective_rows();

}  // namespace reprise

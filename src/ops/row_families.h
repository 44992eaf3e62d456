// SPDX-License-Identifier: Apache-2.0
// The families of built-in ops, one file each, which op_table.cpp gathers.
#pragma once

#include <vector>

#include "ops/row.h"

namespace reprise {

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
std::vector<OpRow> window_rows();
std::vector<OpRow> movement_rows();
std::vector<OpRow> index_rows();
std::vector<OpRow> embedding_rows();
std::vector<OpRow> matmul_rows();
std::vector<OpRow> norm_rows();
std::vector<OpRow> rope_rows();
std::vector<OpRow> loss_rows();
std::vector<OpRow> attention_rows();
std::vector<OpRow> region_rows();
std::vector<OpRow> collective_rows();

}  // namespace reprise

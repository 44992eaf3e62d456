// SPDX-License-Identifier: Apache-2.0
#include "ops/op_table.h"

namespace reprise {

std::vector<OpRow> index_rows() { return {}; }

}  // namespace reprise

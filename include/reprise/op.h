// SPDX-License-Identifier: Apache-2.0
// Ops of one's own: the row of an op, what its columns are given, the builders that derivatives and decompositions are made with,
// and shared objects of ops.
#pragma once

#include "api/ops_library.h"
#include "ops/builders.h"
#include "ops/custom_field.h"
#include "ops/eval_context.h"
#include "ops/op_table.h"
#include "ops/row.h"
#include "ops/row_parts.h"
#include "ops/type_check.h"

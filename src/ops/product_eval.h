// SPDX-License-Identifier: Apache-2.0
// Reference evaluation of the matrix products, in the order of the numeric contract.
#pragma once

#include "ops/eval_context.h"

namespace reprise {

/// inputs (a, b) -> numpy matmul
void evaluate_matmul(EvalContext& context);
/// inputs (c, a, b) -> c + a b, each k block added to c
void evaluate_matmul_accumulate(EvalContext& context);
/// inputs (x, weight, bias?) -> x weight^T + bias, the bias added to the unrounded product
void evaluate_linear(EvalContext& context);

}  // namespace reprise

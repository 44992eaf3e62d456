// SPDX-License-Identifier: Apache-2.0
#include "executor/loops/kernels/fill_tables.h"
#include "executor/loops/kernels/isa.h"
namespace reprise::loops::REPRISE_ISA_LEVEL {
void fill_attention(Kernels&) {}
}

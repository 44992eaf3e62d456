// SPDX-License-Identifier: Apache-2.0
// Which ops the loops take: per opcode a claim and a binder, filled in by the family files.
#pragma once

#include <array>
#include <optional>

#include "executor/executor.h"
#include "executor/loops/kernels.h"

namespace reprise::loops {

struct Entry {
  std::optional<Claim> (*claim)(const ClaimRequest& request) = nullptr;
  Kernel (*bind)(const BindRequest& request, const Kernels& kernels) = nullptr;
};

class Registry {
 public:
  Registry();
  /// The entry of a built-in opcode, or null.
  const Entry* find(Opcode opcode) const {
    return opcode.index < kBuiltinOpcodeCount && entries_[opcode.index].claim != nullptr ? &entries_[opcode.index] : nullptr;
  }
  void add(Opcode opcode, Entry entry) { entries_[opcode.index] = entry; }

 private:
  std::array<Entry, kBuiltinOpcodeCount> entries_{};
};

void register_pointwise(Registry& registry);
void register_movement(Registry& registry);
void register_reductions(Registry& registry);
void register_rows(Registry& registry);
void register_products(Registry& registry);
void register_attention(Registry& registry);
void register_indexing(Registry& registry);
void register_gathering(Registry& registry);
void register_ordering(Registry& registry);
void register_draws(Registry& registry);
void register_step(Registry& registry);

/// Whether kernels compute in this dtype: float32, float64 and bfloat16.
constexpr bool is_computed(DType dtype) { return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::bfloat16; }

/// Calls f with the row table of a computed dtype.
template <class F>
auto with_row_table(DType dtype, const Kernels& kernels, F&& f) {
  switch (dtype) {
    case DType::float64: return f(kernels.rows_f64);
    case DType::bfloat16: return f(kernels.rows_bf16);
    default: return f(kernels.rows_f32);
  }
}

}  // namespace reprise::loops

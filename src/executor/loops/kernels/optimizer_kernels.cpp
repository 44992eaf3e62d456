// SPDX-License-Identifier: Apache-2.0
// AdamW over element ranges: base/adamw_formula.h over plain arrays. Every element stands alone, so all of it runs in place.
#include "executor/loops/kernels/fill_tables.h"
#include "executor/loops/kernels/isa.h"

namespace reprise::loops::REPRISE_ISA_LEVEL {
namespace {

template <class T>
void adamw(const optimizer::AdamWStep<T>& given, T coefficient, T* p, const T* g, T* m, T* v, std::size_t begin, std::size_t end) {
  const optimizer::AdamWStep<T> step = given;
#pragma GCC ivdep
  for (std::size_t i = begin; i < end; ++i) {
    const optimizer::AdamWElement<T> next = optimizer::adamw_element(step, p[i], g[i] * coefficient, m[i], v[i]);
    p[i] = next.p;
    m[i] = next.m;
    v[i] = next.v;
  }
}

void adamw_master(const optimizer::AdamWStep<float>& given, float coefficient, bfloat16* p, const bfloat16* g, float* m, float* v, float* master,
                  std::size_t begin, std::size_t end) {
  const optimizer::AdamWStep<float> step = given;
#pragma GCC ivdep
  for (std::size_t i = begin; i < end; ++i) {
    const optimizer::AdamWElement<float> next = optimizer::adamw_element(step, master[i], to_float(g[i]) * coefficient, m[i], v[i]);
    master[i] = next.p;
    p[i] = to_bfloat16(next.p);
    m[i] = next.m;
    v[i] = next.v;
  }
}

REPRISE_INLINE bfloat16 rounded(float x, const AdamWRounding& rounding, optimizer::Rounded value, std::size_t i) {
  if (!rounding.stochastic) return to_bfloat16(x);
  const std::uint64_t subsequence = optimizer::rounding_subsequence(rounding.step, rounding.parameter, value);
  return optimizer::stochastic_bfloat16(x, philox_word(rounding.seed, i, subsequence));
}

void adamw_bf16(const optimizer::AdamWStep<float>& given, float coefficient, bfloat16* p, const bfloat16* g, bfloat16* m, bfloat16* v,
                AdamWRounding rounding, std::size_t begin, std::size_t end) {
  const optimizer::AdamWStep<float> step = given;
  for (std::size_t i = begin; i < end; ++i) {
    const optimizer::AdamWElement<float> next =
        optimizer::adamw_element(step, to_float(p[i]), to_float(g[i]) * coefficient, to_float(m[i]), to_float(v[i]));
    p[i] = rounded(next.p, rounding, optimizer::Rounded::parameter, i);
    m[i] = rounded(next.m, rounding, optimizer::Rounded::first_moment, i);
    v[i] = rounded(next.v, rounding, optimizer::Rounded::second_moment, i);
  }
}

}  // namespace

void fill_optimizer(Kernels& kernels) {
  kernels.optimizer.adamw_f32 = adamw<float>;
  kernels.optimizer.adamw_f64 = adamw<double>;
  kernels.optimizer.adamw_master = adamw_master;
  kernels.optimizer.adamw_bf16 = adamw_bf16;
}

}  // namespace reprise::loops::REPRISE_ISA_LEVEL

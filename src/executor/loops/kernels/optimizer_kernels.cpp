// SPDX-License-Identifier: Apache-2.0
// AdamW over element ranges: base/adamw_formula.h over plain arrays. Every element stands alone, so all of it runs in place.
#include "executor/loops/kernels/fill_tables.h"
#include "executor/loops/kernels/isa.h"

namespace reprise::loops::REPRISE_ISA_LEVEL {
namespace {

template <class T>
void adamw(const optimizer::AdamWStep<T>& given, T coefficient, const T* p, const T* g, const T* m, const T* v, T* next_p, T* next_m,
           T* next_v, std::size_t begin, std::size_t end) {
  const optimizer::AdamWStep<T> step = given;
#pragma GCC ivdep
  for (std::size_t i = begin; i < end; ++i) {
    const optimizer::AdamWElement<T> next = optimizer::adamw_element(step, p[i], g[i] * coefficient, m[i], v[i]);
    next_p[i] = next.p;
    next_m[i] = next.m;
    next_v[i] = next.v;
  }
}

template <class G>
REPRISE_INLINE void adamw_master_from(const optimizer::AdamWStep<float>& given, float coefficient, const G* g, const float* m,
                                      const float* v, const float* master, bfloat16* next_p, float* next_m, float* next_v,
                                      float* next_master, std::size_t begin, std::size_t end) {
  const optimizer::AdamWStep<float> step = given;
#pragma GCC ivdep
  for (std::size_t i = begin; i < end; ++i) {
    const optimizer::AdamWElement<float> next = optimizer::adamw_element(step, master[i], load_element(g, i) * coefficient, m[i], v[i]);
    next_master[i] = next.p;
    next_p[i] = to_bfloat16(next.p);
    next_m[i] = next.m;
    next_v[i] = next.v;
  }
}

void adamw_master(const optimizer::AdamWStep<float>& step, float coefficient, const bfloat16* g, const float* wide, const float* m,
                  const float* v, const float* master, bfloat16* next_p, float* next_m, float* next_v, float* next_master,
                  std::size_t begin, std::size_t end) {
  if (wide != nullptr) return adamw_master_from(step, coefficient, wide, m, v, master, next_p, next_m, next_v, next_master, begin, end);
  adamw_master_from(step, coefficient, g, m, v, master, next_p, next_m, next_v, next_master, begin, end);
}

REPRISE_INLINE bfloat16 rounded(float x, const AdamWRounding& rounding, optimizer::Rounded value, std::size_t i) {
  if (!rounding.stochastic) return to_bfloat16(x);
  const std::uint64_t subsequence = optimizer::rounding_subsequence(rounding.step, rounding.parameter, value);
  return optimizer::stochastic_bfloat16(x, philox_word(rounding.seed, i, subsequence));
}

void adamw_bf16(const optimizer::AdamWStep<float>& given, float coefficient, const bfloat16* p, const bfloat16* g, const float* wide,
                const bfloat16* m, const bfloat16* v, bfloat16* next_p, bfloat16* next_m, bfloat16* next_v, const AdamWRounding& rounding,
                std::size_t begin, std::size_t end) {
  const optimizer::AdamWStep<float> step = given;
  for (std::size_t i = begin; i < end; ++i) {
    const float gradient = wide != nullptr ? wide[i] : to_float(g[i]);
    const optimizer::AdamWElement<float> next =
        optimizer::adamw_element(step, to_float(p[i]), gradient * coefficient, to_float(m[i]), to_float(v[i]));
    next_p[i] = rounded(next.p, rounding, optimizer::Rounded::parameter, i);
    next_m[i] = rounded(next.m, rounding, optimizer::Rounded::first_moment, i);
    next_v[i] = rounded(next.v, rounding, optimizer::Rounded::second_moment, i);
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

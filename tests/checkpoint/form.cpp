// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/form.h"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace reprise::test {
namespace {

struct FormRow {
  std::string_view name;
  std::string_view region;  // the regions' policy
};

/// Regions are full where nothing else is said. What differs between the forms of one policy there (which of two implementations,
/// whether the generator's state is restored, whether changes in place are allowed) is one thing here.
constexpr std::array<FormRow, 33> kRows{{
    {"functional", "full"},
    {"none", "full"},
    {"full", "full"},
    {"full_reentrant", "full"},
    {"full_rng_not_preserved", "full"},
    {"save_nothing_policy", "full"},
    {"must_recompute_all", "full"},
    {"prefer_save_mm", "full"},
    {"save_addmm", "ops(linear)"},
    {"save_mm", "ops(linear,matmul)"},
    {"save_mm_allow_mutation", "ops(linear,matmul)"},
    {"save_mm_list_only", "ops(matmul)"},
    {"save_gelu", "ops(gelu)"},
    {"save_dropout_draw", "ops(philox_dropout)"},
    {"save_everything", "none"},
    {"save_mm_and_attention", "ops(linear,matmul,attention)"},
    {"op_list_form", "ops(linear,matmul,attention)"},
    {"save_attention", "ops(attention)"},
    {"save_bmm", "ops(attention)"},
    {"save_topk", "ops(topk)"},
    {"save_rand_rng_not_preserved", "ops(philox_uniform,philox_normal)"},
    {"alternate", "alternate"},
    {"alternate_mm", "alternate"},
    {"alternate_force_gate_shape", "alternate(gate)"},
    {"alternate_force_output_shape", "alternate(output)"},
    {"each", "full"},
    {"one_region", "full"},
    {"every_second", "full"},
    {"sequential_2", "full"},
    {"outer_only", "full"},
    {"outer_and_first", "full"},
    {"outer_and_both", "full"},
    {"three_deep", "full"},
}};

}  // namespace

Form form_of(std::string_view name) {
  constexpr std::string_view kWhole = "_no_early_stop";
  Form form;
  std::string_view base = name;
  if (base.ends_with(kWhole)) {
    base.remove_suffix(kWhole.size());
    form.early_stop = false;
  }
  const auto* const row = std::find_if(kRows.begin(), kRows.end(), [&](const FormRow& one) { return one.name == base; });
  if (row == kRows.end()) throw std::runtime_error("a form of checkpointing that is not known: " + std::string(name));
  form.name = name.ends_with(kWhole) ? base : name;
  form.region = parse_region_policy(row->region);
  form.plain = base == "none" || base == "functional";
  form.functional = base == "functional";
  form.tags_products = base == "prefer_save_mm";
  return form;
}

}  // namespace reprise::test

// SPDX-License-Identifier: Apache-2.0
// Cases in which what backward needs is changed in place, x w going through a function f that says itself what it saves.
#include "checkpoint/case.h"

#include "support/recompute_models.h"

namespace reprise::test {
namespace {

/// e^x, which keeps a copy of its own of what it needs, whatever region it is in.
Tensor exp_keeping_a_copy(const Tensor& x) {
  const std::vector<Tensor> results = custom_function_of(
      x, 2,
      [](Builder& b, const auto& in) {
        const ValueId y = ops::exp(b, in[0]);
        return std::vector{y, ops::copy(b, y)};
      },
      [](Builder& b, const auto& in) { return std::vector{ops::mul(b, in[3], in[2])}; });
  x.tracer().tag(results[1], TagKind::must_save, "f");
  return results[0];
}

/// y + 1, in place unless functional.
void add_one(Tensor& y, const Form& form) {
  if (form.functional) y = y + 1.0;
  else y.add_(1.0);
}

/// The sum of squares of what `fn` makes of x w in a region.
CheckpointCase product_case(std::string_view name, const std::function<Tensor(Tensor, const Form&)>& fn) {
  return {name, [fn](Tracer& tracer, const Form& form) {
            const Tensor x = rows_input(tracer);
            const Tensor w = matrix_input(tracer);
            sum_of_squares(tracer, inside(tracer, "block", form, [&] { return fn(x.matmul(w), form); }));
          }};
}

Tensor changed_after(Tensor y, const Form& form) {
  add_one(y, form);
  return y * 2.0;
}

}  // namespace

std::vector<CheckpointCase> in_place_cases() {
  return {
      product_case("inplace_after_custom_saving_input",
                   [](const Tensor& h, const Form& f) { return changed_after(square_saving_input(h), f); }),
      product_case("inplace_on_saved_input", [](Tensor h, const Form& f) {
        const Tensor y = square_saving_input(h);
        add_one(h, f);
        return y * 2.0;
      }),
      product_case("inplace_on_saved_output", [](const Tensor& h, const Form& f) { return changed_after(exp_saving_output(h), f); }),
      product_case("inplace_custom_keeps_on_ctx", [](const Tensor& h, const Form& f) { return changed_after(exp_keeping_a_copy(h), f); }),
      product_case("inplace_on_product", changed_after),
      product_case("inplace_on_read_product", [](Tensor y, const Form& f) {
        add_one(y, f);
        return y * y;
      }),
      product_case("inplace_on_sigmoid_output", [](const Tensor& h, const Form& f) {
        Tensor z = h.sigmoid();
        if (f.functional) z = z * 2.0;
        else z.mul_(2.0);
        return z;
      }),
  };
}

}  // namespace reprise::test

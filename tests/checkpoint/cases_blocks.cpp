// SPDX-License-Identifier: Apache-2.0
// Cases of one block in one region, and of blocks in a row and in each other.
#include "checkpoint/case.h"

#include <string>

namespace reprise::test {
namespace {

/// One toy block in one region. `x_role`: batch, and x gets no gradient.
void toy(Tracer& tracer, const Form& form, double dropout, Role x_role = Role::param) {
  const ToyBlock block(dropout);
  const Tensor x = rows_input(tracer, x_role);
  sum_of_squares(tracer, inside(tracer, "block", form, [&] { return block(x); }));
}

void toy_sum(Tracer& tracer, const Form& form) {
  const ToyBlock block;
  const Tensor x = rows_input(tracer);
  tracer.output(inside(tracer, "block", form, [&] { return block(x); }).sum());
}

void three_linears(Tracer& tracer, const Form& form) {
  struct Layers : Module {
    explicit Layers(std::int64_t n) {
      gate = add_module("gate", Linear(n, n, false, kFresh));
      wq = add_module("wq", Linear(n, n, false, kFresh));
      output = add_module("output", Linear(n, 2 * n, false, kFresh));
    }
    Linear gate, wq, output;
  };
  const Layers layers(form.width);
  const Tensor x = tracer.input("x", {DType::float32, {form.width, form.width}, Device::cpu}, Role::param);
  tracer.output(inside(tracer, "block", form, [&] { return layers.output(layers.wq(layers.gate(x))); }).sum());
}

/// Blocks called by their names' scopes, so that their parameters are.
Tensor run(Tracer& tracer, std::string_view name, const ToyBlock& block, const Tensor& x) {
  const Tracer::Scope scope = tracer.module(name);
  return block(x);
}

void nested(Tracer& tracer, const Form& form) {
  const ToyBlock a;
  const ToyBlock b;
  const Tensor x = rows_input(tracer);
  const auto first = [&] { return run(tracer, "a", a, x); };
  const auto second = [&](const Tensor& y) { return run(tracer, "b", b, y); };
  const auto regional = [&](const Tensor& y) { return inside(tracer, "b", form, [&] { return second(y); }); };
  const auto first_in_region = [&] { return inside(tracer, "a", form, first); };
  const auto outer = [&](auto&& fn) { return inside(tracer, "outer", form, fn); };
  Tensor y;
  if (form.name == "outer_only") y = outer([&] { return second(first()); });
  else if (form.name == "outer_and_first") y = outer([&] { return second(first_in_region()); });
  else if (form.name == "outer_and_both") y = outer([&] { return regional(first_in_region()); });
  else if (form.name == "three_deep") y = outer([&] { return inside(tracer, "middle", form, [&] { return second(first_in_region()); }); });
  else y = regional(first_in_region());
  sum_of_squares(tracer, y);
}

void chain(Tracer& tracer, const Form& form) {
  const std::vector<ToyBlock> blocks(4);
  Tensor x = rows_input(tracer);
  const auto block = [&](std::size_t i, const Tensor& in) { return run(tracer, std::to_string(i), blocks[i], in); };
  const auto region = [&](std::size_t from, std::size_t to) {
    x = inside(tracer, "block" + std::to_string(from), form, [&] {
      Tensor y = x;
      for (std::size_t i = from; i < to; ++i) y = block(i, y);
      return y;
    });
  };
  if (form.name == "one_region") {
    region(0, 4);
  } else if (form.name == "sequential_2") {  // of two segments the last is not checkpointed
    region(0, 2);
    x = block(3, block(2, x));
  } else {
    for (std::size_t i = 0; i < 4; ++i) {
      if (form.name == "every_second" && i % 2 == 1) x = block(i, x);
      else region(i, i + 1);
    }
  }
  sum_of_squares(tracer, x);
}

}  // namespace

std::vector<CheckpointCase> block_cases() {
  return {
      {"toy_block", [](Tracer& t, const Form& f) { toy(t, f, 0.3); }},
      {"toy_block_no_dropout", [](Tracer& t, const Form& f) { toy(t, f, 0); }},
      {"toy_block_sum_loss", toy_sum},
      {"three_linears", three_linears},
      {"nested", nested},
      {"chain", chain},
      {"no_input_needs_gradient", [](Tracer& t, const Form& f) { toy(t, f, 0, Role::batch); }},
      {"frozen_first_linear", [](Tracer& t, const Form& f) { toy(t, f, 0, Role::batch); }, "l2.*"},
  };
}

}  // namespace reprise::test

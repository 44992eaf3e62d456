// SPDX-License-Identifier: Apache-2.0
// Cases about what goes into regions, comes out of them and happens inside: several outputs, modules used twice, shared
// parameters, draws, counters, routing, low precision.
#include "checkpoint/case.h"

#include <array>
#include <string>

#include "ops/builders.h"
#include "ops/op_table.h"

namespace reprise::test {
namespace {

/// Two toy blocks called `a` and `b`.
struct Pair {
  Tensor first(const Tensor& x) const { return call("a", a, x); }
  Tensor second(const Tensor& x) const { return call("b", b, x); }
  static Tensor call(std::string_view name, const ToyBlock& block, const Tensor& x) {
    const Tracer::Scope scope = x.tracer().module(name);
    return block(x);
  }
  ToyBlock a, b;
};

void random_op(Tracer& tracer, const Form& form) {
  const Tensor x = rows_input(tracer);
  const Tensor w = matrix_input(tracer);
  sum_of_squares(tracer, inside(tracer, "block", form, [&] {
    const Tensor factor{tracer, ops::uniform(tracer.builder(), x.shape(), DType::float32)};
    const Tensor added{tracer, ops::normal(tracer.builder(), {kWidth}, DType::float32)};
    return x.matmul(w) * factor + added;
  }));
}

void unused_output(Tracer& tracer, const Form& form) {
  const Pair pair;
  const Tensor x = rows_input(tracer);
  inside(tracer, "unused", form, [&] { return pair.second(x); });
  sum_of_squares(tracer, pair.first(x));
}

/// A region with two results, of which the loss reads one.
void two_outputs(Tracer& tracer, const Form& form, std::size_t used) {
  const Pair pair;
  const Tensor x = rows_input(tracer);
  sum_of_squares(tracer, inside(tracer, "block", form, [&] { return std::array{pair.first(x), pair.second(x)}; })[used]);
}

void input_without_gradient(Tracer& tracer, const Form& form) {
  const ToyBlock block;
  const Tensor x = rows_input(tracer);
  const Tensor c = rows_input(tracer, Role::batch, "c");
  sum_of_squares(tracer, inside(tracer, "block", form, [&] { return block(x) * c; }));
}

void module_twice(Tracer& tracer, const Form& form) {
  const ToyBlock block;
  const Tensor x = rows_input(tracer);
  const auto each = [&](const Tensor& in) { return inside(tracer, "block", form, [&] { return block(in); }); };
  const Tensor y = form.name == "one_region" ? inside(tracer, "both", form, [&] { return block(block(x)); }) : each(each(x));
  sum_of_squares(tracer, y);
}

void module_twice_two_shapes(Tracer& tracer, const Form& form) {
  const ToyBlock block;
  const Tensor x = rows_input(tracer);
  const auto loss = [&](const Tensor& in) { return inside(tracer, "block", form, [&] { return block(in); }).square().sum(); };
  const Tensor whole = loss(x);
  tracer.output(whole + loss(x.slice(1, 0, 3)));
}

void shared_parameter(Tracer& tracer, const Form& form) {
  Pair pair;
  pair.b.l1.weight = pair.a.l1.weight;
  const Tensor x = rows_input(tracer);
  const Tensor y = inside(tracer, "a", form, [&] { return pair.first(x); });
  sum_of_squares(tracer, inside(tracer, "b", form, [&] { return pair.second(y); }));
}

void counter(Tracer& tracer, const Form& form) {
  const ToyBlock block;
  const Tensor x = rows_input(tracer);
  const Tensor count = tracer.input("count", {DType::float32, {}, Device::cpu}, Role::state);
  Tensor counted = count;
  const Tensor y = inside(tracer, "block", form, [&] {
    counted = counted + 1.0;
    const Tensor z = block(x);
    counted = counted + 100.0;
    return z;
  });
  sum_of_squares(tracer, y);
  tracer.output(counted);
  tracer.donate(count, counted);
}

void region_returns_its_input(Tracer& tracer, const Form& form) {
  const Tensor x = rows_input(tracer);
  const Tensor w = matrix_input(tracer);
  const auto [same, product] = inside(tracer, "block", form, [&] { return std::array{x, x.matmul(w)}; });
  tracer.output(same.square().sum() + product.square().sum());
}

/// x, with no gradient flowing back: an op of the user's whose derivative gives nothing.
Tensor stopped(const Tensor& x) {
  static const Opcode opcode = [] {
    OpRow row;
    row.infer = [](const Node&, std::span<const TensorType> inputs) { return std::vector{inputs[0]}; };
    row.decompose = [](Builder& b, const Node&, std::span<const ValueId> inputs) { return std::vector{ops::copy(b, inputs[0])}; };
    row.vjp = [](VjpContext&) { return std::vector{ValueId()}; };
    return register_op("stop_gradient", std::move(row));
  }();
  return custom_op(opcode_name(opcode), {x})[0];
}

void detach_inside(Tracer& tracer, const Form& form) {
  const Tensor x = rows_input(tracer);
  const Tensor w = matrix_input(tracer);
  sum_of_squares(tracer, inside(tracer, "block", form, [&] { return x + stopped(x.matmul(w)) * 2.0; }));
}

/// The best two of four experts, each a product, weighted by their probabilities; every expert computes every token.
Tensor routed(const Tensor& x) {
  constexpr std::int64_t kExperts = 4;
  Tracer& tracer = x.tracer();
  const auto call = [&](const std::string& name, const Linear& linear, const Tensor& in) {
    const Tracer::Scope scope = tracer.module(name);
    return linear(in);
  };
  const Tensor tokens = x.reshape({16, kWidth});
  const Tensor chances = call("r", Linear(kWidth, kExperts, false, kFresh), tokens).softmax(-1);
  const auto best = ops::topk(tracer.builder(), chances.id(), 2);
  const ValueId zeros = ops::full(tracer.builder(), chances.shape(), DType::float32, 0);
  const Tensor weights{tracer, ops::scatter_add(tracer.builder(), zeros, 1, best.indices, best.values)};
  Tensor sum;
  for (std::int64_t i = 0; i < kExperts; ++i) {
    const Tensor part = call("e." + std::to_string(i), Linear(kWidth, kWidth, false, kFresh), tokens) * weights.slice(1, i, i + 1);
    sum = sum.valid() ? sum + part : part;
  }
  return sum.reshape(x.shape());
}

void router(Tracer& tracer, const Form& form) {
  const Tensor x = rows_input(tracer);
  sum_of_squares(tracer, inside(tracer, "block", form, [&] { return routed(x); }));
}

void router_all_tied(Tracer& tracer, const Form& form) {
  const Tensor x = rows_input(tracer);
  const Tensor nothing = x * 0.0;
  sum_of_squares(tracer, inside(tracer, "block", form, [&] { return routed(nothing); }) + x);
}

/// The toy block with its products in bfloat16: weights and inputs are cast, the sum is float32.
void autocast(Tracer& tracer, const Form& form) {
  const ToyBlock block;
  const Tensor x = rows_input(tracer);
  const auto low = [&](const char* name, const Linear& linear, const Tensor& in) {
    const Tracer::Scope scope = tracer.module(name);
    const auto cast = [&](const Parameter& parameter) { return tracer.parameter(parameter).cast(DType::bfloat16).id(); };
    return Tensor{tracer, ops::linear(tracer.builder(), in.cast(DType::bfloat16).id(), cast(linear.weight), cast(linear.bias))};
  };
  sum_of_squares(tracer, inside(tracer, "block", form, [&] {
    return x + low("l2", block.l2, low("l1", block.l1, x).gelu()).cast(DType::float32);
  }));
}

/// What no gradient flows through, beside the same without a region.
void region_under_no_grad(Tracer& tracer, const Form& form) {
  const ToyBlock block;
  const Tensor x = rows_input(tracer);
  const Tensor beside = inside(tracer, "beside", form, [&] { return block(x); });
  sum_of_squares(tracer, block(x));
  tracer.output(beside);
}

}  // namespace

std::vector<CheckpointCase> structure_cases() {
  return {
      {"random_op", random_op},
      {"unused_output", unused_output},
      {"one_of_two_outputs_used", [](Tracer& t, const Form& f) { two_outputs(t, f, 0); }},
      {"second_of_two_outputs_used", [](Tracer& t, const Form& f) { two_outputs(t, f, 1); }},
      {"input_without_gradient", input_without_gradient},
      {"module_twice", module_twice},
      {"module_twice_two_shapes", module_twice_two_shapes},
      {"shared_parameter", shared_parameter},
      {"counter", counter},
      {"region_returns_its_input", region_returns_its_input},
      {"detach_inside", detach_inside},
      {"router", router},
      {"router_all_tied", router_all_tied},
      {"autocast", autocast},
      {"region_under_no_grad", region_under_no_grad},
  };
}

std::vector<CheckpointCase> checkpoint_cases() {
  std::vector<CheckpointCase> all;
  for (const auto& some : {block_cases(), attention_cases(), structure_cases(), in_place_cases()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::string_view reason_left_out(std::string_view name) {
  if (name == "backward_twice") return "a compiled step is one forward and one backward pass; there is no second one to ask for";
  return {};
}

}  // namespace reprise::test

// SPDX-License-Identifier: Apache-2.0
// Gradient clipping and AdamW against PyTorch's.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "interpreter/interpreter.h"
#include "reference/op_cases.h"
#include "support/reference_data.h"
#include "support/tolerance.h"

namespace reprise::test {
namespace {

/// max(|x|) or sum(|x|) over all gradients, and the factor min(1, max_norm / (norm + 1e-6)).
Ids clipped_by(Builder& b, const Ids& gradients, Opcode reduction, double max_norm) {
  ValueId norm;
  for (const ValueId g : gradients) {
    const ValueId one = ops::reduce(b, reduction, ops::unary(b, op::abs, g));
    norm = !norm.valid() ? one : ops::binary(b, reduction == op::sum ? op::add : op::maximum, norm, one);
  }
  const ValueId bound = ops::full(b, Shape{}, b.dtype(norm), max_norm);
  const ValueId factor = ops::clamp(b, ops::div(b, bound, ops::add_scalar(b, norm, 1e-6)), {}, 1.0);
  Ids outputs = {norm};
  for (const ValueId g : gradients) outputs.push_back(ops::mul(b, g, factor));
  return outputs;
}

Ids clipped(Builder& b, const Ids& gradients, double max_norm) {
  ValueId squares;
  for (const ValueId g : gradients) {
    const ValueId one = ops::sum_squares(b, g);
    squares = squares.valid() ? ops::add(b, squares, one) : one;
  }
  const ValueId factor = ops::clip_coefficient(b, squares, max_norm);
  Ids outputs = {ops::sqrt(b, squares)};
  for (const ValueId g : gradients) outputs.push_back(ops::mul(b, g, factor));
  return outputs;
}

TEST(ReferenceClipping, EveryCase) {
  REPRISE_NEEDS_REFERENCE("ops/clip_grad_norm.safetensors");
  OpCases cases("clip_grad_norm");
  cases.check_all("", [&](const std::string& name) -> CaseFunction {
    return [&cases, name](Builder& b, const Ids& in) -> Ids {
      const double max_norm = cases.number(name, "max_norm");
      const Json* type = cases.attribute(name, "norm_type");
      if (type != nullptr && type->string() == "inf") return clipped_by(b, in, op::amax, max_norm);
      if (type != nullptr && type->string() == "1.0") return clipped_by(b, in, op::sum, max_norm);
      return clipped(b, in, max_norm);
    };
  }, {.length = 20});
  cases.expect_all_done();
}

struct AdamWCase {
  AdamWAttrs attrs;
  std::vector<double> lr;
};

AdamWCase adamw_case(const OpCases& cases, const Json& index, const std::string& name) {
  AdamWCase result;
  result.attrs.beta1 = cases.attribute(name, "betas")->items()[0].number();
  result.attrs.beta2 = cases.attribute(name, "betas")->items()[1].number();
  result.attrs.eps = cases.number(name, "eps");
  result.attrs.weight_decay = cases.number(name, "weight_decay");
  const Json& entry = *index.find(name);
  for (std::int64_t step = 0; step < entry.find("steps")->integer(); ++step) {
    const Json* schedule = entry.find("lr");
    const bool scheduled = schedule != nullptr && !schedule->is_null();
    result.lr.push_back(scheduled ? schedule->items()[static_cast<std::size_t>(step)].number() : cases.number(name, "lr"));
  }
  return result;
}

/// Slice `step` of a tensor [steps, ...].
HostTensor at_step(const HostTensor& all, std::size_t step) {
  std::vector<std::int64_t> extents = all.shape().extents();
  extents.erase(extents.begin());
  const TensorType type{all.dtype(), Shape(extents), Device::cpu};
  return {type, all.bytes().data() + step * static_cast<std::size_t>(type.bytes())};
}

void check_adamw(const OpCases& cases, const Json& index, const std::string& name, DType dtype) {
  const AdamWCase c = adamw_case(cases, index, name);
  const HostTensor gradients = converted(cases.tensor(name, "g"), dtype);
  const HostTensor expected = cases.tensor(name, "p");
  HostTensor p = converted(cases.tensor(name, "p0"), dtype);
  HostTensor m(p.type());
  HostTensor v(p.type());
  for (std::size_t step = 0; step < c.lr.size(); ++step) {
    const HostTensor g = at_step(gradients, step);
    const TensorType scalar{dtype, Shape{}, Device::cpu};
    const HostTensor lr = HostTensor::from_numbers(scalar, std::vector<double>{c.lr[step]});
    Trace trace;
    Builder b(trace);
    const std::vector<HostTensor> values = {p, g, m, v, lr, HostTensor::scalar(static_cast<std::int64_t>(step + 1))};
    Ids in;
    for (const HostTensor& value : values) in.push_back(trace.add_input(value.type(), Role::batch, "x"));
    const ops::AdamWResult result = ops::adamw(b, {in[0], in[1], in[2], in[3], in[4], in[5], {}, {}, {}}, c.attrs);
    trace.outputs = {result.p, result.m, result.v};
    const std::vector<HostTensor> outputs = interpret(trace, values);
    p = outputs[0];
    m = outputs[1];
    v = outputs[2];
    expect_near(p, at_step(expected, step), 8, fmt::format("optimizers.{} step {}", name, step + 1));
  }
  expect_near(m, cases.tensor(name, "state.exp_avg"), 8, "optimizers." + name + ".exp_avg");
  expect_near(v, cases.tensor(name, "state.exp_avg_sq"), 8, "optimizers." + name + ".exp_avg_sq");
}

TEST(ReferenceOptimizers, AdamW) {
  REPRISE_NEEDS_REFERENCE("ops/optimizers.safetensors");
  const OpCases cases("optimizers");
  const Json index = read_json(reference_folder() / "ops" / "index.json");
  const Json& entries = *index.find("optimizers")->find("cases");
  int checked = 0;
  for (const std::string& name : cases.names()) {
    if (!name.starts_with("adamw") || name == "adamw_amsgrad" || name == "adamw_maximize") continue;
    check_adamw(cases, entries, name, DType::float64);
    check_adamw(cases, entries, name, DType::float32);
    ++checked;
  }
  EXPECT_EQ(checked, 5);
}

}  // namespace
}  // namespace reprise::test

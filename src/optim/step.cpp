// SPDX-License-Identifier: Apache-2.0
#include "optim/step.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ops/builders.h"

namespace reprise {
namespace {

DType accumulator_dtype(DType parameter) { return parameter == DType::float64 ? DType::float64 : DType::float32; }

std::uint32_t input_index(const Trace& trace, ValueId value) { return trace[value].output; }

ValueId add_state(Trace& trace, const Shape& shape, DType dtype, const std::string& name) {
  return trace.add_input({dtype, shape, Device::cpu}, Role::state, name);
}

/// Appends `value` to the outputs, taking the storage of input `donor`.
void output_into(Trace& trace, ValueId donor, ValueId value) {
  trace.donations.push_back({input_index(trace, donor), static_cast<std::uint32_t>(trace.outputs.size())});
  trace.outputs.push_back(value);
}

/// Drops the gradients from the joint trace's outputs.
Trace without_gradient_outputs(const JointTrace& joint) {
  Trace trace = joint.trace;
  trace.outputs.resize(trace.outputs.size() - joint.gradients.size());
  return trace;
}

bool sixteen_bit(DType dtype) { return dtype == DType::bfloat16; }

/// The norm of all gradients together, as its square: tensors in parameter order.
ValueId total_squares(Builder& b, const std::vector<ValueId>& gradients) {
  ValueId total;
  for (const ValueId gradient : gradients) {
    const ValueId squares = ops::sum_squares(b, gradient);
    total = total.valid() ? ops::add(b, total, squares) : squares;
  }
  return total;
}

}  // namespace

StepTrace build_adamw_step(const JointTrace& joint, const AdamWOptions& options, bool accumulated) {
  StepTrace step;
  step.trace = without_gradient_outputs(joint);
  Trace& trace = step.trace;
  step.forward_outputs = trace.outputs.size();
  Builder b(trace);
  b.context.phase = Phase::update;

  const bool any_double = std::any_of(joint.wrt.begin(), joint.wrt.end(), [&](ValueId p) { return trace.type(p).dtype == DType::float64; });
  const ValueId lr = trace.add_input({any_double ? DType::float64 : DType::float32, {}, Device::cpu}, Role::scalar, "lr");
  const ValueId count = trace.add_input({DType::int64, {}, Device::cpu}, Role::scalar, "step");
  const bool any_sixteen = std::any_of(joint.wrt.begin(), joint.wrt.end(), [&](ValueId p) { return sixteen_bit(trace.type(p).dtype); });
  const bool stochastic = options.rounding == Rounding::stochastic && any_sixteen && !options.master_weights;
  const ValueId seed = stochastic ? trace.add_input({DType::int64, {}, Device::cpu}, Role::scalar, "rounding_seed") : ValueId();

  std::vector<ValueId> gradients = joint.gradients;
  std::vector<ValueId> accumulators(gradients.size());
  if (accumulated) {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const TensorType type = trace.type(joint.wrt[i]);
      accumulators[i] = add_state(trace, type.shape, accumulator_dtype(type.dtype), trace[joint.wrt[i]].name + ".acc");
      gradients[i] = ops::add(b, accumulators[i], ops::cast(b, gradients[i], accumulator_dtype(type.dtype)));
    }
  }

  ValueId coefficient;
  step.has_grad_norm = (options.max_norm > 0 || options.log_norm) && !gradients.empty();
  if (step.has_grad_norm) {
    const ValueId squares = total_squares(b, gradients);
    trace.outputs.push_back(b.emit(op::sqrt, {squares}, NoAttrs{}, "grad_norm"));
    if (options.max_norm > 0) coefficient = ops::clip_coefficient(b, squares, options.max_norm);
  }

  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const ValueId p = joint.wrt[i];
    const TensorType type = trace.type(p);
    const std::string name = trace[p].name;
    const bool master = options.master_weights && sixteen_bit(type.dtype);
    const DType state = master ? DType::float32 : type.dtype;
    StepParameter parameter{name, name + ".m", name + ".v", master ? name + ".master" : "", accumulated ? name + ".acc" : ""};

    ops::AdamWInputs inputs;
    inputs.p = p;
    inputs.g = gradients[i];
    inputs.m = add_state(trace, type.shape, state, parameter.first_moment);
    inputs.v = add_state(trace, type.shape, state, parameter.second_moment);
    if (master) inputs.master = add_state(trace, type.shape, DType::float32, parameter.master);
    inputs.lr = lr;
    inputs.step = count;
    inputs.coefficient = coefficient;

    AdamWAttrs attrs;
    attrs.beta1 = options.beta1;
    attrs.beta2 = options.beta2;
    attrs.eps = options.eps;
    attrs.weight_decay = options.decay_vectors || type.shape.rank() >= 2 ? options.weight_decay : 0;
    if (stochastic && sixteen_bit(type.dtype)) {
      attrs.rounding = Rounding::stochastic;
      attrs.parameter = static_cast<std::int64_t>(input_index(trace, p));
      inputs.seed = seed;
    }
    b.context.module = trace[p].name;
    const ops::AdamWResult updated = ops::adamw(b, inputs, attrs);
    output_into(trace, p, updated.p);
    output_into(trace, inputs.m, updated.m);
    output_into(trace, inputs.v, updated.v);
    if (master) output_into(trace, inputs.master, updated.master);
    if (accumulated) output_into(trace, accumulators[i], ops::zeros_like(b, accumulators[i]));
    step.parameters.push_back(std::move(parameter));
  }
  return step;
}

Trace build_accumulate(const JointTrace& joint) {
  Trace trace = without_gradient_outputs(joint);
  const auto readers = value_readers(trace);
  Builder b(trace);
  b.context.phase = Phase::update;
  for (std::size_t i = 0; i < joint.gradients.size(); ++i) {
    const ValueId p = joint.wrt[i];
    const ValueId gradient = joint.gradients[i];
    const TensorType type = trace.type(p);
    const DType dtype = accumulator_dtype(type.dtype);
    const ValueId accumulator = add_state(trace, type.shape, dtype, trace[p].name + ".acc");
    b.context.module = trace[p].name;

    const NodeId producer = trace[gradient].producer;
    const bool one_product = producer.valid() && trace[producer].opcode == op::matmul && type.shape.rank() == 2 &&
                             readers[gradient.index()].empty() && trace.type(trace[producer].inputs[0]).shape.rank() == 2 &&
                             trace.type(trace[producer].inputs[1]).shape.rank() == 2;
    if (one_product) {
      const Node product = trace[producer];
      const auto& layout = product.as<MatmulAttrs>();
      output_into(trace, accumulator,
                  ops::matmul_accumulate(b, accumulator, product.inputs[0], product.inputs[1], layout.transpose_a, layout.transpose_b));
    } else {
      output_into(trace, accumulator, ops::add(b, accumulator, ops::cast(b, gradient, dtype)));
    }
  }
  return trace;
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
#include "reference/model_run.h"

#include <algorithm>
#include <stdexcept>

#include "autograd/differentiate.h"
#include "optim/step.h"

namespace reprise::test {
namespace {

constexpr double kLearningRate = 1e-3;
constexpr int kSteps = 3;

AdamWOptions reference_options() {
  AdamWOptions options;
  options.beta1 = 0.9;
  options.beta2 = 0.95;
  options.eps = 1e-8;
  options.weight_decay = 0.1;
  options.max_norm = 1;
  return options;
}

HostTensor number(DType dtype, double value) { return HostTensor::from_numbers({dtype, {}, Device::cpu}, std::vector<double>{value}); }

}  // namespace

void carry_donations(const Trace& trace, const std::vector<HostTensor>& outputs, NamedValues& values) {
  for (const Donation& donation : trace.donations) {
    values[trace[trace.inputs[donation.input].value].name] = outputs[donation.output];
  }
}

NamedValues persistent_values(const TracedProgram& program, const NamedNumbers& weights, DType dtype) {
  NamedValues values;
  for (const NamedParameter& parameter : program.parameters) {
    values[parameter.name] = HostTensor::from_numbers({dtype, parameter.shape, Device::cpu}, weights.at(parameter.name));
  }
  for (const InitialState& state : program.state) values[state.name] = HostTensor(state.type, state.bytes.data());
  return values;
}

std::vector<HostTensor> run_named(const Trace& trace, const NamedValues& values) {
  std::vector<HostTensor> inputs;
  for (const TraceInput& input : trace.inputs) {
    const auto found = values.find(trace[input.value].name);
    if (found == values.end()) throw std::runtime_error("no value for input " + trace[input.value].name);
    inputs.push_back(found->second);
  }
  return interpret(trace, inputs);
}

NamedNumbers read_parameters(const TensorSource& source, const WeightTable& table) {
  NamedNumbers parameters;
  const std::vector<std::size_t> places = match_weights(source, table);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::int64_t width = source.tensors()[places[i]].width();
    std::int64_t from = 0;
    for (const ParameterRows& rows : table.tensors[i].rows) {
      std::vector<double>& values = parameters[rows.parameter];
      values.resize(std::max(values.size(), static_cast<std::size_t>(rows.last * width)));
      const std::span<double> to(values.data() + rows.first * width, static_cast<std::size_t>((rows.last - rows.first) * width));
      source.read_rows(places[i], from, from + rows.last - rows.first, DType::float64, std::as_writable_bytes(to));
      from += rows.last - rows.first;
    }
  }
  return parameters;
}

std::int64_t Batch::kept() const {
  return std::count_if(targets.begin(), targets.end(), [](std::int64_t target) { return target != -100; });
}

ModelFigures train_three_steps(const GptConfig& config, DType dtype, const NamedNumbers& weights, const Batch& batch) {
  GptTraceOptions options{.batch = batch.rows, .length = batch.length, .dtype = dtype};
  options.output_logits = true;
  const TracedProgram program = trace_forward_loss(config, options);
  const JointTrace joint = differentiate(program.trace, trainable_parameters(program.trace));
  const StepTrace step = build_adamw_step(joint, reference_options());

  NamedValues values = persistent_values(program, weights, dtype);
  values["tokens"] = HostTensor::of<std::int64_t>({batch.rows, batch.length}, batch.tokens);
  values["targets"] = HostTensor::of<std::int64_t>({batch.rows, batch.length}, batch.targets);
  values["inv_kept"] = number(dtype, 1 / static_cast<double>(batch.kept()));

  ModelFigures figures;
  const std::vector<HostTensor> first = run_named(joint.trace, values);
  figures.logits = first[1].numbers();
  for (std::size_t i = 0; i < joint.wrt.size(); ++i) {
    figures.gradients[joint.trace[joint.wrt[i]].name] = first[program.trace.outputs.size() + i].numbers();
  }
  for (const StepParameter& parameter : step.parameters) {
    for (const std::string& moment : {parameter.first_moment, parameter.second_moment}) {
      values[moment] = HostTensor(step.trace.type(step.trace.find(moment)));
    }
  }
  values["lr"] = number(dtype, kLearningRate);
  for (int i = 0; i < kSteps; ++i) {
    values["step"] = HostTensor::scalar<std::int64_t>(i + 1);
    const std::vector<HostTensor> outputs = run_named(step.trace, values);
    figures.step_losses.push_back(outputs[0].number());
    figures.grad_norms.push_back(outputs[step.forward_outputs].number());
    carry_donations(step.trace, outputs, values);
  }
  figures.step_losses.push_back(run_named(program.trace, values)[0].number());
  for (const NamedParameter& parameter : program.parameters) {
    std::vector<double> delta = values[parameter.name].numbers();
    const std::vector<double>& before = weights.at(parameter.name);
    for (std::size_t i = 0; i < delta.size(); ++i) delta[i] -= before[i];
    figures.deltas[parameter.name] = std::move(delta);
  }
  return figures;
}

std::vector<double> folder_gradient(const ModelFigures& figures, const FolderTensor& tensor) {
  const std::int64_t width = SourceTensor{"", "", {}, tensor.shape}.width();
  std::vector<double> values;
  for (const ParameterRows& rows : tensor.rows) {
    const auto whole = figures.gradients.find(rows.parameter);
    if (whole == figures.gradients.end()) return {};
    values.insert(values.end(), whole->second.begin() + rows.first * width, whole->second.begin() + rows.last * width);
  }
  return values;
}

}  // namespace reprise::test

// SPDX-License-Identifier: Apache-2.0
#include "executor/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>

#include "analysis/storage.h"
#include "base/bytes.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "ir/printer.h"

namespace reprise {

/// One node that computes.
struct Program::Step {
  NodeId node;
  Kernel kernel;
  std::size_t first_view = 0;
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::span<std::byte> workspace;
};

namespace {

const Executor& executor_called(const ExecutorList& executors, std::string_view name) {
  for (const Executor* const executor : executors) {
    if (executor->name() == name) return *executor;
  }
  throw InternalError(fmt::format("a trace claimed by an executor that is not there: {}", name));
}

enum class Finding : std::uint8_t { finite, infinite, nan };

template <class T>
Finding look(const TensorView& view, T (*widen)(const std::byte*)) {
  const Shape& shape = view.type->shape;
  const auto size = static_cast<std::int64_t>(dtype_size(view.type->dtype));
  Finding finding = Finding::finite;
  std::array<std::int64_t, Shape::kMaxRank> index{};
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < shape.rank(); ++d) offset += index[d] * view.strides[d];
    const T x = widen(view.data + offset * size);
    if (std::isnan(x)) return Finding::nan;
    if (std::isinf(x)) finding = Finding::infinite;
    for (std::size_t d = shape.rank(); d-- > 0 && ++index[d] == shape[d];) index[d] = 0;
  }
  return finding;
}

template <class T>
T read(const std::byte* data) {
  T x;
  std::memcpy(&x, data, sizeof(T));
  return x;
}

Finding look(const TensorView& view) {
  switch (view.type->dtype) {
    case DType::float32: return look<float>(view, read<float>);
    case DType::float64: return look<double>(view, read<double>);
    case DType::bfloat16: return look<float>(view, [](const std::byte* p) { return to_float(read<bfloat16>(p)); });
    case DType::float16: return look<float>(view, [](const std::byte* p) { return to_float(read<float16>(p)); });
    default: return Finding::finite;
  }
}

}  // namespace

Program::Program(const CompiledTrace& compiled, const ExecutorList& executors, const Target& target, ThreadPool& pool,
                 const ProgramAddresses& addresses)
    : compiled_(compiled), pool_(pool) {
  const Trace& trace = compiled.claimed.trace;
  const StorageMap storage(trace);
  const auto raise = [this](const std::byte* end) {
    if (highest_ == nullptr || std::less<>()(highest_, end)) highest_ = end;
  };

  std::map<std::string_view, const StoragePlan*> planned;
  for (const StoragePlan& plan : compiled.plan.storages) planned.emplace(plan.value, &plan);
  addresses_.resize(trace.values.size());
  strides_.resize(trace.values.size());
  for (std::size_t i = 0; i < trace.values.size(); ++i) {
    const ValueId owner = storage.owner(ValueId(i));
    const StoragePlan& plan = *planned.at(trace[owner].name);
    addresses_[i] = plan.slot.empty() ? addresses.transient + plan.offset : addresses.slot(plan.slot);
    if (plan.bytes > 0) raise(addresses_[i] + plan.bytes);
    const Layout& layout = storage[ValueId(i)].layout;
    addresses_[i] += layout.offset * static_cast<std::int64_t>(dtype_size(trace.values[i].type.dtype));
    strides_[i] = layout.strides;
  }

  std::vector<std::span<std::byte>> workspaces(trace.nodes.size());
  for (const WorkspacePlan& plan : compiled.plan.workspaces) {
    workspaces[plan.node] = {addresses.transient + plan.offset, static_cast<std::size_t>(plan.bytes)};
    raise(addresses.transient + plan.offset + plan.bytes);
  }

  std::size_t view_count = 0;
  for (const Node& node : trace.nodes) {
    if (!storage.shares(node)) view_count += node.inputs.size() + node.outputs.size();
  }
  views_.reserve(view_count);  // steps and kernels keep spans of it
  for (std::size_t n = 0; n < trace.nodes.size(); ++n) {
    const Node& node = trace.nodes[n];
    if (storage.shares(node)) continue;
    Step step{NodeId(n), {}, views_.size(), node.inputs.size(), node.outputs.size(), workspaces[n]};
    for (const auto* const values : {&node.inputs, &node.outputs}) {
      for (const ValueId value : *values) views_.push_back({nullptr, &trace.type(value), strides_[value.index()]});
    }
    const std::span<TensorView> views = std::span(views_).subspan(step.first_view);
    step.kernel = executor_called(executors, node.executor.view())
                      .bind({node, views.first(step.inputs), views.subspan(step.inputs), target, pool.threads()});
    std::size_t k = 0;
    for (const auto* const values : {&node.inputs, &node.outputs}) {
      for (const ValueId value : *values) views[k++].data = addresses_[value.index()];
    }
    if (node.executor == Interned("reference")) ++reference_nodes_;
    steps_.push_back(std::move(step));
  }
}

Program::~Program() = default;

std::optional<std::size_t> Program::find_input(std::string_view name) const {
  for (std::size_t i = 0; i < trace().inputs.size(); ++i) {
    if (trace()[trace().inputs[i].value].name == name) return i;
  }
  return std::nullopt;
}

std::size_t Program::input_index(std::string_view name) const {
  const std::optional<std::size_t> found = find_input(name);
  if (!found) throw InternalError(fmt::format("program {} has no input {}", compiled_.name, name));
  return *found;
}

std::size_t Program::output_index(std::string_view name) const {
  for (std::size_t i = 0; i < trace().outputs.size(); ++i) {
    if (trace()[trace().outputs[i]].name == name) return i;
  }
  throw InternalError(fmt::format("program {} has no output {}", compiled_.name, name));
}

std::span<std::byte> Program::storage(ValueId value) const {
  return {addresses_[value.index()], static_cast<std::size_t>(trace().type(value).bytes())};
}

std::span<std::byte> Program::input(std::size_t index) { return storage(trace().inputs.at(index).value); }

std::span<const std::byte> Program::output(std::size_t index) const { return storage(trace().outputs.at(index)); }

void Program::set_input(std::size_t index, std::span<const std::byte> bytes) {
  const std::span<std::byte> place = input(index);
  REPRISE_CHECK(place.size() == bytes.size(),
                fmt::format("input {} of program {} has {} bytes, not {}", trace()[trace().inputs[index].value].name, compiled_.name,
                            place.size(), bytes.size()));
  copy_bytes(place, bytes);
}

void Program::set_floating(std::size_t index, double value) {
  if (trace().type(trace().inputs.at(index).value).dtype == DType::float64) return set_scalar(index, value);
  set_scalar(index, static_cast<float>(value));
}

double Program::floating_output(std::size_t index) const {
  const DType dtype = trace().type(trace().outputs.at(index)).dtype;
  if (dtype == DType::float64) return output_as<double>(index)[0];
  if (dtype == DType::bfloat16) return static_cast<double>(to_float(output_as<bfloat16>(index)[0]));
  return static_cast<double>(output_as<float>(index)[0]);
}

void Program::check_size(std::size_t bytes, std::size_t size) {
  REPRISE_CHECK(bytes % size == 0, fmt::format("{} bytes are no array of elements of {} bytes", bytes, size));
}

void Program::run_step(const Step& step) {
  const std::span<const TensorView> views(views_.data() + step.first_view, step.inputs + step.outputs);
  step.kernel({views.first(step.inputs), views.subspan(step.inputs), step.workspace, pool_});
}

void Program::run() {
  for (const Step& step : steps_) run_step(step);
}

void Program::run_observed(const std::function<void(NodeId, std::span<const TensorView>)>& after) {
  for (const Step& step : steps_) {
    run_step(step);
    after(step.node, std::span<const TensorView>(views_).subspan(step.first_view + step.inputs, step.outputs));
  }
}

std::optional<NonFinite> Program::run_checked(std::size_t result) {
  const Trace& all = trace();
  std::vector<Finding> findings(all.values.size(), Finding::finite);
  for (const TraceInput& input : all.inputs) {
    findings[input.value.index()] = look({addresses_[input.value.index()], &all.type(input.value), strides_[input.value.index()]});
  }
  std::size_t done = 0;
  const auto pass_views_up_to = [&](std::size_t end) {  // a view is what its input is
    for (; done < end; ++done) {
      const Node& node = all.nodes[done];
      if (node.executor == Interned("view")) findings[node.outputs[0].index()] = findings[node.inputs[0].index()];
    }
  };
  run_observed([&](NodeId id, std::span<const TensorView> outputs) {
    pass_views_up_to(id.index());
    for (std::size_t o = 0; o < outputs.size(); ++o) findings[all[id].outputs[o].index()] = look(outputs[o]);
  });
  pass_views_up_to(all.nodes.size());

  ValueId value = all.outputs.at(result);
  if (findings[value.index()] == Finding::finite) return std::nullopt;
  // Back along NaNs while there are any, then along infinities. Constants are meant: a mask may hold -inf.
  for (;;) {
    const NodeId producer = all[value].producer;
    if (!producer.valid()) break;
    ValueId cause;
    for (const Finding wanted : {Finding::nan, Finding::infinite}) {
      for (const ValueId input : all[producer].inputs) {
        const NodeId maker = all[input].producer;
        const bool constant =
            maker.valid() && (all[maker].inputs.empty() || all[maker].opcode == op::masked_fill || all[maker].opcode == op::where);
        if (!cause.valid() && findings[input.index()] == wanted && !(wanted == Finding::infinite && constant)) cause = input;
      }
    }
    if (!cause.valid()) break;
    value = cause;
  }
  NonFinite report{all[value].name, {}, {}, {}, findings[value.index()] == Finding::nan};
  if (const NodeId producer = all[value].producer; producer.valid()) {
    report.op = opcode_name(all[producer].opcode);
    report.module = all[producer].module.str();
    report.node = print_node(all, producer);
  }
  return report;
}

}  // namespace reprise

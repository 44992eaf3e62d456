// SPDX-License-Identifier: Apache-2.0
#include "nn/tracer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace reprise {
namespace {

/// The part of a path that does not depend on where the tree lies: below "src/", else the file's name.
std::string_view place_free(std::string_view path) {
  constexpr std::string_view kRoot = "/src/";
  if (const std::size_t root = path.rfind(kRoot); root != std::string_view::npos) return path.substr(root + kRoot.size());
  return path.substr(path.rfind('/') + 1);  // npos + 1 == 0: no slash, the whole
}

std::string joined(std::string_view path, std::string_view name, char separator) {
  if (path.empty()) return std::string(name);
  if (name.empty()) return std::string(path);
  return fmt::format("{}{}{}", path, separator, name);
}

template <class T>
void store_all(std::span<const double> values, std::vector<std::byte>& bytes) {
  bytes.resize(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

}  // namespace

Tracer::Tracer(std::string name, DType dtype) : dtype_(dtype), builder_(trace_) { trace_.name = std::move(name); }

Builder& Tracer::at(CallSite where) {
  builder_.context.source = {Interned(place_free(where.file)), where.line};
  return builder_;
}

Tracer::Scope::Scope(Tracer& tracer, Interned Builder::Context::* path, std::string_view name, char separator)
    : tracer_(&tracer), path_(path), outer_(tracer.builder_.context.*path) {
  tracer.builder_.context.*path = Interned(joined(outer_.view(), name, separator));
}

Tracer::Scope::Scope(Scope&& other) noexcept
    : tracer_(std::exchange(other.tracer_, nullptr)), path_(other.path_), outer_(other.outer_) {}

Tracer::Scope::~Scope() {
  if (tracer_ != nullptr) tracer_->builder_.context.*path_ = outer_;
}

Tracer::Scope Tracer::module(std::string_view name) { return {*this, &Builder::Context::module, name, '.'}; }

Tracer::Scope Tracer::region(std::string_view name, std::optional<RegionPolicy> policy) {
  const std::string outer = region_names(builder_.context.region.view());
  const std::string plain = joined(outer, name, '/');
  std::string numbered(name);
  for (int entered = ++regions_[plain]; entered > 1; entered = ++regions_[plain]) {
    numbered = fmt::format("{}.{}", name, entered);
    if (regions_.emplace(joined(outer, numbered, '/'), 1).second) break;  // else a region was given that name
  }
  return {*this, &Builder::Context::region, region_segment(numbered, policy), '/'};
}

Tensor Tracer::input(std::string_view name, const TensorType& type, Role role) {
  return {*this, trace_.add_input(type, role, name)};
}

Tensor Tracer::add_parameter(const Parameter& parameter, NamedParameter named) {
  const ValueId value =
      trace_.add_input(TensorType{dtype_, parameter.shape(), Device::cpu}, named.trained ? Role::param : Role::state, named.name);
  parameter_values_.emplace(parameter.identity(), value);
  held_.push_back(parameter);
  parameters_.push_back(std::move(named));
  return {*this, value};
}

Tensor Tracer::parameter(const Parameter& parameter) {
  REPRISE_CHECK(parameter.valid(), "a parameter was used that no module registered");
  if (const auto found = parameter_values_.find(parameter.identity()); found != parameter_values_.end()) return {*this, found->second};
  const std::string name = joined(builder_.context.module.view(), parameter.name(), '.');
  return add_parameter(parameter,
                       {name, parameter.shape(), parameter.init(), static_cast<std::int64_t>(parameters_.size()), parameter.trained()});
}

void Tracer::declare(const Module& root) {
  for (auto& [named, parameter] : root.parameter_handles()) {
    if (!parameter_values_.contains(parameter.identity())) add_parameter(parameter, std::move(named));
  }
}

Tensor Tracer::constant(std::string_view name, const Shape& shape, std::span<const double> values, DType dtype) {
  const TensorType type{dtype, shape, Device::cpu};
  if (const auto found = state_values_.find(std::string(name)); found != state_values_.end()) {
    REPRISE_CHECK(trace_.type(found->second) == type, fmt::format("constant {} asked for with two types", name));
    return {*this, found->second};
  }
  REPRISE_CHECK(static_cast<std::int64_t>(values.size()) == shape.numel(), fmt::format("constant {} of the wrong size", name));
  InitialState state{std::string(name), type, {}};
  switch (dtype) {
    case DType::float32: store_all<float>(values, state.bytes); break;
    case DType::float64: store_all<double>(values, state.bytes); break;
    default: fail_check("dtype", __FILE__, __LINE__, fmt::format("constants are float32 or float64, not {}", dtype_name(dtype)));
  }
  const ValueId value = trace_.add_input(type, Role::state, name);
  state_values_.emplace(std::string(name), value);
  state_.push_back(std::move(state));
  return {*this, value};
}

ValueId Tracer::own(const Tensor& value) const {
  if (&value.tracer() != this) throw UserError("a tensor of another tracer; make it inside this trace");
  return value.id();
}

Tensor Tracer::named(const Tensor& value, std::string_view name) {
  trace_[own(value)].name = trace_.unique_name(name);
  return value;
}

void Tracer::tag(const Tensor& value, TagKind kind, std::string_view source) {
  trace_[own(value)].tags.push_back({kind, Interned(source)});
}

void Tracer::donate(const Tensor& input, const Tensor& output) {
  const auto in = std::find_if(trace_.inputs.begin(), trace_.inputs.end(), [&](const TraceInput& i) { return i.value == input.id(); });
  const auto out = std::find(trace_.outputs.begin(), trace_.outputs.end(), output.id());
  REPRISE_CHECK(in != trace_.inputs.end() && out != trace_.outputs.end(), "donation from no input or to no output");
  trace_.donations.push_back({static_cast<std::uint32_t>(in - trace_.inputs.begin()),
                              static_cast<std::uint32_t>(out - trace_.outputs.begin())});
}

TracedProgram Tracer::finish() && { return {std::move(trace_), std::move(parameters_), std::move(state_)}; }

}  // namespace reprise

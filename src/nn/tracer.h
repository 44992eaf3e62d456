// SPDX-License-Identifier: Apache-2.0
// Records a trace while model code runs: the trace itself, the module and region the code is in, parameters as they are
// first used, and the inputs that keep initial bytes (rotary tables). There is no current tracer: tensors carry theirs.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/region.h"
#include "nn/module.h"
#include "nn/tensor.h"
#include "ops/builder.h"

namespace reprise {

/// An input of role `state` that starts with these bytes (dense, row-major) and is kept between steps.
struct InitialState {
  std::string name;
  TensorType type;
  std::vector<std::byte> bytes;
};

/// What a tracer made. `parameters` are inputs of the trace, in their order: of role `param`, or `state` where not trained.
struct TracedProgram {
  Trace trace;
  std::vector<NamedParameter> parameters;
  std::vector<InitialState> state;
};

class Tracer {
 public:
  /// `dtype` is that of parameters and activations.
  explicit Tracer(std::string name, DType dtype = DType::float32);
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  DType dtype() const { return dtype_; }
  Trace& trace() { return trace_; }
  /// The builder, its context being the module, region and tags in force.
  Builder& builder() { return builder_; }
  /// The builder, its next nodes noted as made at `where`.
  Builder& at(CallSite where);

  /// A stretch of model code inside a module or a region; ends with the object.
  class [[nodiscard]] Scope {
   public:
    Scope(Scope&& other) noexcept;
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    Scope& operator=(Scope&&) = delete;
    ~Scope();

   private:
    friend class Tracer;
    Scope(Tracer& tracer, Interned Builder::Context::* path, std::string_view name, char separator);
    Tracer* tracer_;
    Interned Builder::Context::* path_;
    Interned outer_;
  };
  /// Nodes made in this scope carry the module path extended by `name` ("transformer.h.3" + "mlp"); no change for "".
  Scope module(std::string_view name);
  /// Nodes made in this scope belong to the checkpoint region `name` inside those around it ("block3/attn"), with a policy of
  /// its own or none. A name used before in the same place gets a number ("block3.2"): another region. UserError for a name
  /// with '/' or '='.
  Scope region(std::string_view name, std::optional<RegionPolicy> policy = {});

  /// Adds an input.
  Tensor input(std::string_view name, const TensorType& type, Role role);
  /// The input that stands for a parameter: one, however often and through however many modules it is used. Without
  /// `declare` it is named by the module path of its first use.
  Tensor parameter(const Parameter& parameter);
  /// Adds the inputs of all of the module's parameters, in registration order, under their full names.
  void declare(const Module& root);
  /// The state input called `name` holding `values` (row-major), rounded to `dtype`; asked for again, the same input.
  Tensor constant(std::string_view name, const Shape& shape, std::span<const double> values, DType dtype);

  /// Renames a value, made unique; returns it. As for tags and outputs, UserError for a tensor of another tracer.
  Tensor named(const Tensor& value, std::string_view name);
  /// Says what is wanted of a value across forward and backward.
  void tag(const Tensor& value, TagKind kind, std::string_view source = "user");
  void output(const Tensor& value) { trace_.outputs.push_back(own(value)); }
  /// Says that output `output` may take the storage of input `input`.
  void donate(const Tensor& input, const Tensor& output);

  /// Hands over the trace. The tracer and its tensors are of no more use.
  TracedProgram finish() &&;

 private:
  ValueId own(const Tensor& value) const;
  Tensor add_parameter(const Parameter& parameter, NamedParameter named);

  DType dtype_;
  Trace trace_;
  Builder builder_;
  std::unordered_map<std::string, int> regions_;  // how often each was entered
  std::unordered_map<const void*, ValueId> parameter_values_;  // by identity
  std::vector<Parameter> held_;  // what those are of, so that no later parameter has one of their identities
  std::vector<NamedParameter> parameters_;
  std::unordered_map<std::string, ValueId> state_values_;
  std::vector<InitialState> state_;
};

}  // namespace reprise

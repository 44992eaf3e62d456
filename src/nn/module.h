// SPDX-License-Identifier: Apache-2.0
// The module tree: a module is a plain struct that registers parameters and children by name. Copies of a module share its
// parameters; the same parameter registered in two places (tied weights) is one parameter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/shape.h"

namespace reprise {

class Tracer;
class Tensor;

/// What a parameter holds before training.
struct Initializer {
  enum class Kind : std::uint8_t { zeros, ones, normal };
  Kind kind = Kind::zeros;
  double std = 0;

  static Initializer zeros() { return {}; }
  static Initializer ones() { return {Kind::ones, 0}; }
  static Initializer normal(double std) { return {Kind::normal, std}; }
  friend bool operator==(const Initializer&, const Initializer&) = default;
};

/// A handle to a parameter; copies are the same parameter.
class Parameter {
 public:
  Parameter() = default;
  Parameter(const Shape& shape, Initializer init, bool trained = true) : data_(std::make_shared<Data>(Data{"", shape, init, trained})) {}

  bool valid() const { return data_ != nullptr; }
  const Shape& shape() const { return data_->shape; }
  const Initializer& init() const { return data_->init; }
  /// False for a buffer: a weight that the model reads and no optimizer changes.
  bool trained() const { return data_->trained; }
  /// Name in the module that registered it first.
  const std::string& name() const { return data_->name; }
  /// Equal for handles of one parameter.
  const void* identity() const { return data_.get(); }

 private:
  friend class Module;
  struct Data {
    std::string name;
    Shape shape;
    Initializer init;
    bool trained = true;
  };
  std::shared_ptr<Data> data_;
};

/// A parameter under its full name, "transformer.h.0.attn.qkv.weight".
struct NamedParameter {
  std::string name;
  Shape shape;
  Initializer init;
  std::int64_t index = 0;  // place among the model's parameters: names its random draws
  bool trained = true;

  /// Weight decay acts on matrices and embeddings, not on biases and norm weights.
  bool decay() const { return shape.rank() >= 2; }
  friend bool operator==(const NamedParameter&, const NamedParameter&) = default;
};

class Module {
 public:
  Module() : node_(std::make_shared<Node>()) {}

  /// All parameters below this module: its own in registration order, then its children's; a shared one once, under its
  /// first name.
  std::vector<NamedParameter> parameters() const;
  /// As `parameters`, with the handles.
  std::vector<std::pair<NamedParameter, Parameter>> parameter_handles() const;
  /// The name under which a parent registered this module first.
  const std::string& module_name() const { return node_->name; }

 protected:
  /// Registers a new parameter, or one that another module has too. UserError when the name is taken.
  Parameter add_parameter(std::string_view name, Parameter parameter);
  Parameter add_parameter(std::string_view name, const Shape& shape, Initializer init) {
    return add_parameter(name, Parameter(shape, init));
  }
  /// Registers a weight that is not trained.
  Parameter add_buffer(std::string_view name, const Shape& shape, Initializer init) {
    return add_parameter(name, Parameter(shape, init, false));
  }
  /// Registers a child and returns it. UserError when the name is taken.
  template <class Child>
  Child add_module(std::string_view name, Child child) {
    attach(name, child);
    return child;
  }

 private:
  struct Node {
    std::string name;
    std::vector<std::pair<std::string, Parameter>> parameters;
    std::vector<std::pair<std::string, std::shared_ptr<Node>>> children;
  };
  void attach(std::string_view name, const Module& child);
  void require_free(std::string_view name) const;
  struct Collected;
  static void collect(const Node& node, const std::string& prefix, Collected& collected);

  std::shared_ptr<Node> node_;
};

/// Writes a parameter's initial values (row-major, dtype) into `bytes`: Philox draws named by (seed, index) alone, made
/// in float32 (float64 keeps their value) and rounded once to the 16-bit types. InternalError when the size is wrong.
void initialize(const NamedParameter& parameter, std::uint64_t seed, DType dtype, std::span<std::byte> bytes);

}  // namespace reprise

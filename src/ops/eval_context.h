// SPDX-License-Identifier: Apache-2.0
// What an op's `evaluate` sees: dense inputs, dense outputs, and numbers converted to the type it computes in.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "ir/trace.h"

namespace reprise {

/// A dense row-major array that somebody else owns.
struct ArrayRef {
  const TensorType* type = nullptr;
  void* data = nullptr;
};

class EvalContext {
 public:
  /// Runs a sub-trace on dense arrays: (body, inputs, outputs).
  using RunBody = std::function<void(const Trace&, std::span<const ArrayRef>, std::span<const ArrayRef>)>;

  EvalContext(const Node& node, std::span<const ArrayRef> inputs, std::span<const ArrayRef> outputs, const RunBody& run_body,
              std::span<std::byte> workspace = {})
      : node_(node), inputs_(inputs), outputs_(outputs), run_body_(run_body), workspace_(workspace) {}

  const Node& node() const { return node_; }
  std::size_t input_count() const { return inputs_.size(); }
  const TensorType& in_type(std::size_t i) const { return *inputs_[i].type; }
  const TensorType& out_type(std::size_t i = 0) const { return *outputs_[i].type; }
  const ArrayRef& in(std::size_t i) const { return inputs_[i]; }
  const ArrayRef& out(std::size_t i = 0) const { return outputs_[i]; }

  /// Input i as C (float, double, std::int64_t): bfloat16 and float16 widen exactly.
  template <class C>
  std::vector<C> load(std::size_t i) const;
  /// Writes output i, rounding once to its dtype (nearest even).
  template <class C>
  void store(std::size_t i, std::span<const C> values) const;
  /// Writes the bytes of input 0 to output 0, which is as large.
  void copy_first_input() const {
    const auto size = static_cast<std::size_t>(in_type(0).bytes());
    if (size != 0) std::memcpy(out().data, in(0).data, size);
  }
  /// Scratch of as many bytes as the row's `workspace` said, 64-byte aligned, contents undefined.
  std::span<std::byte> workspace() const { return workspace_; }
  /// The one element of input i.
  template <class C>
  C scalar(std::size_t i) const {
    return load<C>(i).at(0);
  }
  void run_body(const Trace& body, std::span<const ArrayRef> inputs, std::span<const ArrayRef> outputs) const {
    run_body_(body, inputs, outputs);
  }

  /// Calls `f` with a value of the type this op computes in: double when input or output `reference` type is float64,
  /// std::int64_t for integers and bool, float otherwise.
  template <class F>
  static void dispatch(DType dtype, F&& f) {
    switch (dtype) {
      case DType::float64: return f(double{});
      case DType::int32:
      case DType::int64:
      case DType::boolean: return f(std::int64_t{});
      default: return f(float{});
    }
  }
  /// As `dispatch`, for ops on floating types alone.
  template <class F>
  static void dispatch_float(DType dtype, F&& f) {
    if (dtype == DType::float64) return f(double{});
    return f(float{});
  }

 private:
  const Node& node_;
  std::span<const ArrayRef> inputs_;
  std::span<const ArrayRef> outputs_;
  const RunBody& run_body_;
  std::span<std::byte> workspace_;
};

}  // namespace reprise

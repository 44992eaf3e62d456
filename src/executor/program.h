// SPDX-License-Identifier: Apache-2.0
// A compiled trace bound to its engine's arena: kernels and addresses, ready to run again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype_of.h"
#include "executor/claim_trace.h"
#include "executor/compiled_trace.h"
#include "executor/executor.h"

namespace reprise {

/// Where a run first went wrong.
struct NonFinite {
  std::string value;       // the value, "x.3"
  std::string op;          // the op that made it; empty: a trace input that came in so
  std::string module;      // module path of the op
  std::string node;        // the node's line in the trace
  bool nan = false;        // else infinite
};

/// Where a program's storages lie.
struct ProgramAddresses {
  std::byte* transient = nullptr;
  /// Address of the slot of a persistent input.
  std::function<std::byte*(const std::string& slot)> slot;
};

class Program {
 public:
  /// Binds every node. `compiled`, executors and pool outlive the program.
  Program(const CompiledTrace& compiled, const ExecutorList& executors, const Target& target, ThreadPool& pool,
          const ProgramAddresses& addresses);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const std::string& name() const { return compiled_.name; }
  const Trace& trace() const { return compiled_.claimed.trace; }
  const MemoryPlan& plan() const { return compiled_.plan; }

  /// Index of the trace input or output called `name`; InternalError when there is none.
  std::size_t input_index(std::string_view name) const;
  /// The same, or nothing.
  std::optional<std::size_t> find_input(std::string_view name) const;
  std::size_t output_index(std::string_view name) const;

  /// Storage of input `index`. Batch, scalar and rng inputs are written by the caller before every run, since the run
  /// may reuse their bytes; params and states are the engine's and stay.
  std::span<std::byte> input(std::size_t index);
  /// Storage of output `index`, valid after a run until any program of the engine runs or gets inputs.
  std::span<const std::byte> output(std::size_t index) const;
  /// The same as elements of T, which has the dtype's size (InternalError otherwise).
  template <class T>
  std::span<T> input_as(std::size_t index) {
    return elements<T>(input(index));
  }
  template <class T>
  std::span<const T> output_as(std::size_t index) const {
    return elements<const T>(output(index));
  }
  /// Copies an input in; InternalError when the size differs.
  void set_input(std::size_t index, std::span<const std::byte> bytes);
  template <class T>
  void set_input(std::size_t index, std::span<const T> values) {
    set_input(index, std::as_bytes(values));
  }
  template <class T>
  void set_scalar(std::size_t index, T value) {
    set_input(index, std::as_bytes(std::span<const T>(&value, 1)));
  }

  /// Writes a floating scalar in the input's own dtype, float32 or float64; reads one, bfloat16 too.
  void set_floating(std::size_t index, double value);
  double floating_output(std::size_t index) const;

  /// Runs all nodes. Allocates nothing, unless a node is claimed by "reference".
  void run();
  /// Runs all nodes, looks at every floating output, and names the op that output `result` (an index) owes its first NaN
  /// or infinity to: followed back through non-finite values to a node whose inputs are finite. Nothing when it is finite.
  std::optional<NonFinite> run_checked(std::size_t result = 0);
  /// Runs all nodes and calls `after` with each node that computes and its outputs' views.
  void run_observed(const std::function<void(NodeId, std::span<const TensorView>)>& after);

  /// One past the highest address that any kernel or caller is given, whether in a slot or in the transient region.
  const std::byte* highest_address() const { return highest_; }
  /// Nodes claimed by "reference".
  std::size_t reference_nodes() const { return reference_nodes_; }

 private:
  struct Step;

  template <class T>
  static std::span<T> elements(std::span<std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>> bytes) {
    check_size(bytes.size(), sizeof(T));
    return elements_of<T>(bytes);
  }
  static void check_size(std::size_t bytes, std::size_t size);
  void run_step(const Step& step);
  std::span<std::byte> storage(ValueId value) const;

  const CompiledTrace& compiled_;
  ThreadPool& pool_;
  std::vector<std::byte*> addresses_;             // by value: element 0 of its storage's owner
  std::vector<std::vector<std::int64_t>> strides_;  // by value
  std::vector<TensorView> views_;                 // of all steps, one after another
  std::vector<Step> steps_;
  const std::byte* highest_ = nullptr;
  std::size_t reference_nodes_ = 0;
};

}  // namespace reprise

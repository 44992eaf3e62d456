// SPDX-License-Identifier: Apache-2.0
// The interface between Programs and the executors of a device: an executor claims nodes, then binds each to a kernel.
// Kernels are made once, at compile time, and run on addresses in the arena without allocating.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "analysis/claim.h"

namespace reprise {

class ThreadPool;

/// An operand of a bound node. `data` is the address of element (0, 0, ...), offset included; null while binding.
/// Strides in elements, one per dimension. Outputs are always dense.
struct TensorView {
  std::byte* data = nullptr;
  const TensorType* type = nullptr;
  std::span<const std::int64_t> strides;

  /// Element 0 as T.
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

/// One run of a node. Outputs overlap inputs only as the claim's in_place allows; everything else is disjoint.
struct KernelCall {
  std::span<const TensorView> inputs;
  std::span<const TensorView> outputs;
  std::span<std::byte> workspace;  // the claim's workspace_bytes, 64-byte aligned
  ThreadPool& pool;
};

/// Must not allocate, nor keep anything of the call. Called from one thread at a time.
using Kernel = std::function<void(const KernelCall&)>;

/// What `bind` may look at: types and strides as they will be in every call, data null. All of it outlives the kernel.
struct BindRequest {
  const Node& node;
  std::span<const TensorView> inputs;
  std::span<const TensorView> outputs;
  const Target& target;
  int threads = 1;  // of the pool that kernels will run on
};

class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  /// The name in traces and in `--executors`.
  virtual std::string_view name() const = 0;
  /// Accepts the node, or leaves it to the next executor. A pure function of the request.
  virtual std::optional<Claim> claim(const ClaimRequest& request) const = 0;
  /// Makes the kernel of a node that `claim` accepted, with input strides that satisfy the claim.
  virtual Kernel bind(const BindRequest& request) const = 0;
};

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Row ops: softmax, norms, cross entropy, rotary embedding. Rows are split over threads; a norm's parameter gradients are split by columns.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/thread_pool.h"
#include "executor/loops/registry.h"
#include "executor/loops/walk.h"
#include "ops/rope_layout.h"
#include "ops/type_check.h"

namespace reprise::loops {
namespace {

/// Rows and width of a value seen as [rows, last dimension]; a scalar is one row of one.
struct Rows {
  std::size_t rows = 1, width = 1;
};

Rows rows_of(const Shape& shape) {
  Rows result;
  if (shape.rank() == 0) return result;
  result.width = static_cast<std::size_t>(shape.back());
  for (std::size_t d = 0; d + 1 < shape.rank(); ++d) result.rows *= static_cast<std::size_t>(shape[d]);
  return result;
}

// ---- softmax and its relatives, along the last dimension ------------------------------------------------------------

std::optional<Claim> claim_softmax(const ClaimRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  if (!is_computed(request.inputs[0].dtype)) return std::nullopt;
  if (shape.rank() != 0 && shape.wrap(request.node.as<DimAttrs>().dim) != shape.rank() - 1) return std::nullopt;
  Claim claim;
  if (request.node.opcode == op::logsumexp) return claim;
  for (std::uint32_t k = 0; k < request.inputs.size(); ++k) claim.in_place.push_back({k, 0});
  return claim;
}

/// A kernel of one input and one output per row: `member` picks it from the row table.
template <class Pick>
Kernel one_input(const BindRequest& request, const Kernels& kernels, const Pick& pick) {
  const Rows shape = rows_of(request.inputs[0].type->shape);
  return with_row_table(request.inputs[0].type->dtype, kernels, [&]<class E, class T>(const RowTable<E, T>& table) -> Kernel {
    return [function = pick(table), shape](const KernelCall& call) {
      call.pool.parallel_for(shape.rows, [&](std::size_t begin, std::size_t end, int) {
        function(call.inputs[0].as<const E>(), call.outputs[0].as<E>(), shape.width, begin, end);
      });
    };
  });
}

template <class Pick>
Kernel two_inputs(const BindRequest& request, const Kernels& kernels, const Pick& pick) {
  const Rows shape = rows_of(request.inputs[0].type->shape);
  return with_row_table(request.inputs[0].type->dtype, kernels, [&]<class E, class T>(const RowTable<E, T>& table) -> Kernel {
    return [function = pick(table), shape](const KernelCall& call) {
      call.pool.parallel_for(shape.rows, [&](std::size_t begin, std::size_t end, int) {
        function(call.inputs[0].as<const E>(), call.inputs[1].as<const E>(), call.outputs[0].as<E>(), shape.width, begin, end);
      });
    };
  });
}

Kernel bind_softmax(const BindRequest& request, const Kernels& kernels) {
  return one_input(request, kernels, [](const auto& table) { return table.softmax; });
}
Kernel bind_log_softmax(const BindRequest& request, const Kernels& kernels) {
  return one_input(request, kernels, [](const auto& table) { return table.log_softmax; });
}
Kernel bind_logsumexp(const BindRequest& request, const Kernels& kernels) {
  return one_input(request, kernels, [](const auto& table) { return table.logsumexp; });
}
Kernel bind_softmax_backward(const BindRequest& request, const Kernels& kernels) {
  return two_inputs(request, kernels, [](const auto& table) { return table.softmax_backward; });
}
Kernel bind_log_softmax_backward(const BindRequest& request, const Kernels& kernels) {
  return two_inputs(request, kernels, [](const auto& table) { return table.log_softmax_backward; });
}

// ---- norms ----------------------------------------------------------------------------------------------------------

/// Every floating input in x's dtype, but for the statistics, `statistics` of them from input 1 on.
std::optional<Claim> claim_norm_inputs(const ClaimRequest& request, std::size_t statistics) {
  const DType dtype = request.inputs[0].dtype;
  if (!is_computed(dtype) || request.inputs[0].shape.rank() == 0) return std::nullopt;
  for (std::size_t k = 1; k < request.inputs.size(); ++k) {
    const bool statistic = k <= statistics;
    if (request.inputs[k].dtype != (statistic ? statistic_dtype(dtype) : dtype)) return std::nullopt;
  }
  return Claim{};
}

std::optional<Claim> claim_norm(const ClaimRequest& request) {
  auto claim = claim_norm_inputs(request, 0);
  if (claim) claim->in_place = {{0, 0}};
  return claim;
}

template <bool kLayer>
Kernel bind_norm(const BindRequest& request, const Kernels& kernels) {
  const auto attrs = request.node.as<NormAttrs>();
  const Rows shape = rows_of(request.inputs[0].type->shape);
  return with_row_table(request.inputs[0].type->dtype, kernels, [&]<class E, class T>(const RowTable<E, T>& table) -> Kernel {
    return [&table, attrs, shape](const KernelCall& call) {
      const auto* const x = call.inputs[0].as<const E>();
      const auto* const weight = attrs.has_weight ? call.inputs[1].as<const E>() : nullptr;
      auto* const y = call.outputs[0].as<E>();
      const auto eps = static_cast<T>(attrs.eps);
      call.pool.parallel_for(shape.rows, [&](std::size_t begin, std::size_t end, int) {
        if constexpr (kLayer) {
          const auto* const bias = attrs.has_bias ? call.inputs[attrs.has_weight ? 2 : 1].template as<const E>() : nullptr;
          table.layer_norm(x, weight, bias, eps, y, call.outputs[1].as<T>(), call.outputs[2].as<T>(), shape.width, begin, end);
        } else {
          table.rms_norm(x, weight, attrs.unit_offset, eps, y, call.outputs[1].as<T>(), shape.width, begin, end);
        }
      });
    };
  });
}

template <bool kLayer>
std::optional<Claim> claim_norm_backward(const ClaimRequest& request) {
  auto claim = claim_norm_inputs(request, kLayer ? 2 : 1);
  // gx may take gy's storage, or x's: the parameter gradients are made first.
  if (claim) claim->in_place = {{kLayer ? 3u : 2u, 0}, {0, 0}};
  return claim;
}

template <bool kLayer>
Kernel bind_norm_backward(const BindRequest& request, const Kernels& kernels) {
  const auto attrs = request.node.as<NormAttrs>();
  const Rows shape = rows_of(request.inputs[0].type->shape);
  constexpr std::size_t kGy = kLayer ? 3 : 2;
  return with_row_table(request.inputs[0].type->dtype, kernels, [&]<class E, class T>(const RowTable<E, T>& table) -> Kernel {
    return [&table, attrs, shape](const KernelCall& call) {
      const auto* const x = call.inputs[0].as<const E>();
      const auto* const mean = kLayer ? call.inputs[1].as<const T>() : nullptr;
      const auto* const rstd = call.inputs[kGy - 1].as<const T>();
      const auto* const gy = call.inputs[kGy].as<const E>();
      const auto* const weight = attrs.has_weight ? call.inputs[kGy + 1].as<const E>() : nullptr;
      auto* const gx = call.outputs[0].as<E>();
      auto* const gweight = attrs.has_weight ? call.outputs[1].as<E>() : nullptr;
      auto* const gbias = attrs.has_bias ? call.outputs[attrs.has_weight ? 2 : 1].template as<E>() : nullptr;
      if (gweight != nullptr || gbias != nullptr) {
        constexpr std::size_t kStrip = 32;  // columns
        call.pool.parallel_for((shape.width + kStrip - 1) / kStrip, [&](std::size_t begin, std::size_t end, int) {
          table.norm_parameter_gradients(x, mean, rstd, gy, gweight, gbias, shape.rows, shape.width, begin * kStrip,
                                         std::min(shape.width, end * kStrip));
        });
      }
      call.pool.parallel_for(shape.rows, [&](std::size_t begin, std::size_t end, int) {
        if constexpr (kLayer) {
          table.layer_norm_backward(x, mean, rstd, gy, weight, gx, shape.width, begin, end);
        } else {
          table.rms_norm_backward(x, rstd, gy, weight, attrs.unit_offset, gx, shape.width, begin, end);
        }
      });
    };
  });
}

// ---- cross entropy --------------------------------------------------------------------------------------------------

std::optional<Claim> claim_cross_entropy(const ClaimRequest& request) {
  const DType dtype = request.inputs[0].dtype;
  if (!is_computed(dtype) || request.inputs[1].dtype != DType::int64) return std::nullopt;
  if (request.node.as<CrossEntropyAttrs>().has_weight && request.inputs.back().dtype != statistic_dtype(dtype)) return std::nullopt;
  Claim claim;
  if (request.node.opcode == op::cross_entropy_backward) claim.in_place = {{0, 0}};
  return claim;
}

void require_targets(const char* name, const std::int64_t* target, std::size_t rows, std::size_t classes, std::int64_t ignore) {
  for (std::size_t i = 0; i < rows; ++i) {
    if (target[i] != ignore && (target[i] < 0 || target[i] >= static_cast<std::int64_t>(classes))) {
      throw UserError(fmt::format("{}: target out of range for {} classes: {}", name, classes, target[i]));
    }
  }
}

template <class T>
rows::CrossEntropy<T> cross_entropy_options(const CrossEntropyAttrs& attrs, const KernelCall& call) {
  return {attrs.ignore_index, static_cast<T>(attrs.label_smoothing), static_cast<T>(attrs.z_loss),
          attrs.has_weight ? call.inputs.back().as<const T>() : nullptr};
}

Kernel bind_cross_entropy(const BindRequest& request, const Kernels& kernels) {
  const auto attrs = request.node.as<CrossEntropyAttrs>();
  const Rows shape = rows_of(request.inputs[0].type->shape);
  return with_row_table(request.inputs[0].type->dtype, kernels, [&]<class E, class T>(const RowTable<E, T>& table) -> Kernel {
    return [&table, attrs, shape](const KernelCall& call) {
      const auto* const target = call.inputs[1].as<const std::int64_t>();
      require_targets("cross_entropy", target, shape.rows, shape.width, attrs.ignore_index);
      const rows::CrossEntropy<T> options = cross_entropy_options<T>(attrs, call);
      call.pool.parallel_for(shape.rows, [&](std::size_t begin, std::size_t end, int) {
        table.cross_entropy(call.inputs[0].as<const E>(), target, options, call.outputs[0].as<T>(), call.outputs[1].as<T>(), shape.width,
                            begin, end);
      });
    };
  });
}

Kernel bind_cross_entropy_backward(const BindRequest& request, const Kernels& kernels) {
  const auto attrs = request.node.as<CrossEntropyAttrs>();
  const Rows shape = rows_of(request.inputs[0].type->shape);
  return with_row_table(request.inputs[0].type->dtype, kernels, [&]<class E, class T>(const RowTable<E, T>& table) -> Kernel {
    return [&table, attrs, shape](const KernelCall& call) {
      const auto* const target = call.inputs[1].as<const std::int64_t>();
      require_targets("cross_entropy_backward", target, shape.rows, shape.width, attrs.ignore_index);
      const rows::CrossEntropy<T> options = cross_entropy_options<T>(attrs, call);
      call.pool.parallel_for(shape.rows, [&](std::size_t begin, std::size_t end, int) {
        table.cross_entropy_backward(call.inputs[0].as<const E>(), target, call.inputs[2].as<const T>(), call.inputs[3].as<const T>(),
                                     options, call.outputs[0].as<E>(), shape.width, begin, end);
      });
    };
  });
}

// ---- rotary embedding -----------------------------------------------------------------------------------------------

std::optional<Claim> claim_rope(const ClaimRequest& request) {
  const TensorType& x = request.inputs[0];
  if (!is_computed(x.dtype) || request.inputs[1].dtype != statistic_dtype(x.dtype)) return std::nullopt;
  Claim claim;
  claim.layouts = {InputLayout::rows, InputLayout::dense, InputLayout::dense};
  return claim;
}

template <bool kBackward>
Kernel bind_rope(const BindRequest& request, const Kernels& kernels) {
  const rows::RopeLayout layout = row_layout(request.node.as<RopeAttrs>().layout);
  const Shape& x = request.inputs[0].type->shape;
  const Shape& table_shape = request.inputs[1].type->shape;
  const Rows shape = rows_of(x);
  const auto n = static_cast<std::size_t>(table_shape.back());
  const Shape row_shape = without_last(x);
  const Shape table_rows = without_last(table_shape);
  const auto table_strides = table_shape.dense_strides();
  const std::array operands = {StridedShape{&row_shape, request.inputs[0].strides.first(row_shape.rank())},
                               StridedShape{&table_rows, std::span(table_strides).first(table_rows.rank())}};
  const Walk walk = make_walk(row_shape, operands);
  return with_row_table(request.inputs[0].type->dtype, kernels, [&]<class E, class T>(const RowTable<E, T>& table) -> Kernel {
    return [function = table.rope, layout, shape, n, walk](const KernelCall& call) {
      call.pool.parallel_for(shape.rows, [&](std::size_t begin, std::size_t end, int) {
        for (std::size_t row = begin; row < end; ++row) {
          const auto [dense, offset, at, unused] = walk.offsets(static_cast<std::int64_t>(row), walk.rank);
          function(layout, kBackward, call.inputs[0].as<const E>() + offset, call.inputs[1].as<const T>() + at,
                   call.inputs[2].as<const T>() + at, n, shape.width, call.outputs[0].as<E>() + row * shape.width);
        }
      });
    };
  });
}

}  // namespace

void register_rows(Registry& registry) {
  registry.add(op::softmax, {claim_softmax, bind_softmax});
  registry.add(op::softmax_backward, {claim_softmax, bind_softmax_backward});
  registry.add(op::log_softmax, {claim_softmax, bind_log_softmax});
  registry.add(op::log_softmax_backward, {claim_softmax, bind_log_softmax_backward});
  registry.add(op::logsumexp, {claim_softmax, bind_logsumexp});
  registry.add(op::layer_norm, {claim_norm, bind_norm<true>});
  registry.add(op::rms_norm, {claim_norm, bind_norm<false>});
  registry.add(op::layer_norm_backward, {claim_norm_backward<true>, bind_norm_backward<true>});
  registry.add(op::rms_norm_backward, {claim_norm_backward<false>, bind_norm_backward<false>});
  registry.add(op::cross_entropy, {claim_cross_entropy, bind_cross_entropy});
  registry.add(op::cross_entropy_backward, {claim_cross_entropy, bind_cross_entropy_backward});
  registry.add(op::rope, {claim_rope, bind_rope<false>});
  registry.add(op::rope_backward, {claim_rope, bind_rope<true>});
}

}  // namespace reprise::loops

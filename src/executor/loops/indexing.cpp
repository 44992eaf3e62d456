// SPDX-License-Identifier: Apache-2.0
// Embedding lookups and their gradient. The gradient adds tokens in ascending order per vocabulary row: threads split the columns, each
// walks all tokens, so that no order depends on the split and no sorting is needed.
#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "executor/loops/indices.h"
#include "executor/loops/registry.h"

namespace reprise::loops {
namespace {

std::optional<Claim> claim_embedding(const ClaimRequest& request) {
  if (!is_index(request.inputs[1].dtype)) return std::nullopt;
  return Claim{};
}

Kernel bind_embedding(const BindRequest& request, const Kernels&) {
  const Shape& weight = request.inputs[0].type->shape;
  const std::size_t bytes = static_cast<std::size_t>(weight[1]) * dtype_size(request.inputs[0].type->dtype);
  return [rows = weight[0], bytes](const KernelCall& call) {
    require_indices("embedding", call.inputs[1], rows);
    const auto tokens = static_cast<std::size_t>(call.inputs[1].type->shape.numel());
    call.pool.parallel_for(tokens, [&](std::size_t begin, std::size_t end, int) {
      for (std::size_t i = begin; i < end; ++i) {
        std::memcpy(call.outputs[0].data + i * bytes,
                    call.inputs[0].data + static_cast<std::size_t>(index_at(call.inputs[1], static_cast<std::int64_t>(i))) * bytes, bytes);
      }
    });
  };
}

/// Columns whose float32 sums a thread holds at once, for bfloat16 gradients: a cache line of the result.
constexpr std::size_t kSumColumns = 32;

std::size_t sum_columns(std::size_t width) { return std::min(width, kSumColumns); }

std::optional<Claim> claim_embedding_backward(const ClaimRequest& request) {
  if (!is_computed(request.inputs[0].dtype) || !is_index(request.inputs[1].dtype)) return std::nullopt;
  Claim claim;
  if (request.inputs[0].dtype == DType::bfloat16) {
    const Shape& table = request.outputs[0].shape;
    claim.workspace_bytes = 4 * table[0] * static_cast<std::int64_t>(sum_columns(static_cast<std::size_t>(table[1]))) * request.threads;
  }
  return claim;
}

/// Columns [begin, end) of the gradient, in T: row r of it at sums[r * stride].
template <class E, class T>
void add_tokens(const KernelCall& call, const EmbeddingAttrs& attrs, std::size_t width, std::size_t begin, std::size_t end, T* sums,
                std::size_t stride) {
  for (std::size_t row = 0; row < static_cast<std::size_t>(attrs.rows); ++row) std::fill_n(sums + row * stride, end - begin, T(0));
  const auto* const gy = call.inputs[0].as<const E>();
  const auto tokens = static_cast<std::size_t>(call.inputs[1].type->shape.numel());
  for (std::size_t i = 0; i < tokens; ++i) {
    const std::int64_t row = index_at(call.inputs[1], static_cast<std::int64_t>(i));
    if (attrs.padding_index == row) continue;
    T* const to = sums + static_cast<std::size_t>(row) * stride;
    const E* const from = gy + i * width + begin;
    for (std::size_t j = 0; j < end - begin; ++j) to[j] += static_cast<T>(attention::widen(from[j]));
  }
}

template <class E, class T>
Kernel embedding_backward(const EmbeddingAttrs& attrs, std::size_t width) {
  return [attrs, width](const KernelCall& call) {
    require_indices("embedding_backward", call.inputs[1], attrs.rows);
    const auto rows = static_cast<std::size_t>(attrs.rows);
    auto* const out = call.outputs[0].as<E>();
    call.pool.parallel_for((width + kSumColumns - 1) / kSumColumns, [&](std::size_t begin, std::size_t end, int thread) {
      const std::size_t last = std::min(width, end * kSumColumns);
      if constexpr (std::is_same_v<E, T>) {
        add_tokens<E, T>(call, attrs, width, begin * kSumColumns, last, out + begin * kSumColumns, width);
      } else {
        const std::size_t stride = sum_columns(width);
        T* const sums = reinterpret_cast<T*>(call.workspace.data()) + static_cast<std::size_t>(thread) * rows * stride;
        for (std::size_t left = begin * kSumColumns; left < last; left += kSumColumns) {
          const std::size_t right = std::min(last, left + kSumColumns);
          add_tokens<E, T>(call, attrs, width, left, right, sums, stride);
          for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t j = left; j < right; ++j) attention::narrow(out[row * width + j], sums[row * stride + j - left]);
          }
        }
      }
    });
  };
}

Kernel bind_embedding_backward(const BindRequest& request, const Kernels& kernels) {
  const auto attrs = request.node.as<EmbeddingAttrs>();
  const auto width = static_cast<std::size_t>(request.inputs[0].type->shape.back());
  return with_row_table(request.inputs[0].type->dtype, kernels, [&]<class E, class T>(const RowTable<E, T>&) -> Kernel {
    return embedding_backward<E, T>(attrs, width);
  });
}

}  // namespace

void register_indexing(Registry& registry) {
  registry.add(op::embedding, {claim_embedding, bind_embedding});
  registry.add(op::embedding_backward, {claim_embedding_backward, bind_embedding_backward});
}

}  // namespace reprise::loops

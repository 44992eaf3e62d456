// SPDX-License-Identifier: Apache-2.0
// The layers models are made of. Each is a plain struct whose call operator maps tensors to tensors and records its nodes
// under its registered name.
#pragma once

#include <cstdint>

#include "nn/module.h"
#include "nn/tensor.h"
#include "nn/tracer.h"

namespace reprise {

/// How a linear layer's matrix lies: [out, in], or [in, out] as in GPT-2's published weights.
enum class LinearStorage : std::uint8_t { out_in, in_out };

/// x [..., in] -> x W' + b [..., out]
struct Linear : Module {
  Linear() = default;
  Linear(std::int64_t in, std::int64_t out, bool has_bias, Initializer init, LinearStorage storage_in = LinearStorage::out_in);
  /// Shares the matrix [out, in] of another module.
  Linear(const Parameter& shared_weight, bool has_bias);
  Tensor operator()(const Tensor& x) const;

  Parameter weight;
  Parameter bias;  // invalid without
  LinearStorage storage = LinearStorage::out_in;
};

/// index [...] -> rows of the table [..., width]
struct Embedding : Module {
  Embedding() = default;
  Embedding(std::int64_t rows, std::int64_t width, Initializer init);
  Tensor operator()(const Tensor& index) const;

  Parameter weight;
};

/// (x - mean) / sqrt(var + eps) * weight + bias over the last dimension (Ba et al., 2016).
struct LayerNorm : Module {
  LayerNorm() = default;
  LayerNorm(std::int64_t width, double eps_in, bool has_weight, bool has_bias);
  Tensor operator()(const Tensor& x) const;

  Parameter weight;
  Parameter bias;
  double eps = 1e-5;
};

/// x / sqrt(mean(x^2) + eps) * weight over the last dimension (Zhang and Sennrich, 2019); `unit_offset`: * (1 + weight).
struct RmsNorm : Module {
  RmsNorm() = default;
  RmsNorm(std::int64_t width, double eps_in, bool has_weight, bool unit_offset_in);
  Tensor operator()(const Tensor& x) const;

  Parameter weight;
  double eps = 1e-5;
  bool unit_offset = false;
};

/// Rotates the first elements of each head. x: [B, H, T, D]; cos, sin: [T, n]. `interleave`: neighbours turn together and come
/// out as all even, then all odd elements.
Tensor apply_rope(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleave = false,
                  Tensor::Where where = Tensor::Where::current());

struct AttentionOptions {
  bool causal = false;
  std::int64_t window = 0;  // keys a query sees, itself included; 0: all
  double scale = 1;
  double softcap = 0;  // scaled scores become cap tanh(score / cap); 0: as they are
  double dropout = 0;  // of the probabilities; its draws are given by the rng pass
  Tensor segments;     // int64 [B, T]: queries see the keys of their run of equal ids; invalid: one segment
};
/// softmax(scale q k') v. q: [B, Hq, Tq, D]; k, v: [B, Hkv, Tk, D]; mask: bool, true = may attend, or none. Returns [B, Hq, Tq, Dv], a
/// view of numbers that lie by tokens: transpose(1, 2) and a reshape to [B, Tq, Hq Dv] copy nothing.
Tensor scaled_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const AttentionOptions& options,
                        Tensor::Where where = Tensor::Where::current());

/// Row losses [N] of logits [N, C] against targets [N] (int64; -100 is ignored and gives 0).
Tensor cross_entropy_rows(const Tensor& logits, const Tensor& targets, Tensor::Where where = Tensor::Where::current());

}  // namespace reprise

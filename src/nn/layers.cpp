// SPDX-License-Identifier: Apache-2.0
#include "nn/layers.h"

#include "ops/builders.h"

namespace reprise {
namespace {

/// The value of an optional parameter, or of an optional tensor.
ValueId value_of(Tracer& tracer, const Parameter& parameter) {
  return parameter.valid() ? tracer.parameter(parameter).id() : ValueId();
}

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, bool has_bias, Initializer init, LinearStorage storage_in)
    : storage(storage_in) {
  const Shape shape = storage == LinearStorage::out_in ? Shape{out, in} : Shape{in, out};
  weight = add_parameter("weight", shape, init);
  if (has_bias) bias = add_parameter("bias", Shape{out}, Initializer::zeros());
}

Linear::Linear(const Parameter& shared_weight, bool has_bias) : weight(add_parameter("weight", shared_weight)) {
  if (has_bias) bias = add_parameter("bias", Shape{weight.shape()[0]}, Initializer::zeros());
}

Tensor Linear::operator()(const Tensor& x) const {
  Tracer& tracer = x.tracer();
  const Tracer::Scope scope = tracer.module(module_name());
  const Tensor w = tracer.parameter(weight);
  if (storage == LinearStorage::in_out) {
    const Tensor y = x.matmul(w);
    return bias.valid() ? y + tracer.parameter(bias) : y;
  }
  const ValueId b = value_of(tracer, bias);
  return {tracer, ops::linear(tracer.at(Tensor::Where::current()), x.id(), w.id(), b)};
}

Embedding::Embedding(std::int64_t rows, std::int64_t width, Initializer init) : weight(add_parameter("weight", Shape{rows, width}, init)) {}

Tensor Embedding::operator()(const Tensor& index) const {
  const Tracer::Scope scope = index.tracer().module(module_name());
  return index.tracer().parameter(weight).embedding(index);
}

LayerNorm::LayerNorm(std::int64_t width, double eps_in, bool has_weight, bool has_bias) : eps(eps_in) {
  if (has_weight) weight = add_parameter("weight", Shape{width}, Initializer::ones());
  if (has_bias) bias = add_parameter("bias", Shape{width}, Initializer::zeros());
}

Tensor LayerNorm::operator()(const Tensor& x) const {
  Tracer& tracer = x.tracer();
  const Tracer::Scope scope = tracer.module(module_name());
  const ValueId w = value_of(tracer, weight);
  const ValueId b = value_of(tracer, bias);
  return {tracer, ops::layer_norm(tracer.at(Tensor::Where::current()), x.id(), w, b, eps).y};
}

RmsNorm::RmsNorm(std::int64_t width, double eps_in, bool has_weight, bool unit_offset_in) : eps(eps_in), unit_offset(unit_offset_in) {
  if (has_weight) weight = add_parameter("weight", Shape{width}, unit_offset ? Initializer::zeros() : Initializer::ones());
}

Tensor RmsNorm::operator()(const Tensor& x) const {
  Tracer& tracer = x.tracer();
  const Tracer::Scope scope = tracer.module(module_name());
  const ValueId w = value_of(tracer, weight);
  return {tracer, ops::rms_norm(tracer.at(Tensor::Where::current()), x.id(), w, eps, unit_offset).y};
}

Tensor apply_rope(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleave, Tensor::Where where) {
  const RopeLayout layout = interleave ? RopeLayout::gathered : RopeLayout::half;
  return {x.tracer(), ops::rope(x.tracer().at(where), x.id(), cos.id(), sin.id(), layout)};
}

Tensor scaled_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const AttentionOptions& options,
                        Tensor::Where where) {
  ops::AttentionInputs inputs{.q = q.id(), .k = k.id(), .v = v.id(), .bias = {}, .mask = {}, .segments = {}, .seed = {}, .offset = {}};
  if (mask.valid()) inputs.mask = mask.id();
  if (options.segments.valid()) inputs.segments = options.segments.id();
  AttentionAttrs attrs;
  attrs.causal = options.causal;
  attrs.window = options.window;
  attrs.scale = options.scale;
  attrs.softcap = options.softcap;
  attrs.dropout = options.dropout;
  const Tensor by_tokens(q.tracer(), ops::attention(q.tracer().at(where), inputs, attrs).out);
  return by_tokens.transpose(1, 2, where);
}

Tensor cross_entropy_rows(const Tensor& logits, const Tensor& targets, Tensor::Where where) {
  return {logits.tracer(), ops::cross_entropy(logits.tracer().at(where), logits.id(), targets.id(), CrossEntropyAttrs{}).loss};
}

}  // namespace reprise

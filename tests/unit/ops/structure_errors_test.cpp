// SPDX-License-Identifier: Apache-2.0
// What views, movement, indexing, products, norms, rope, losses, attention, regions and collectives refuse, and the words they say it in.
#include <gtest/gtest.h>

#include "autograd/differentiate.h"
#include "interpreter/interpreter.h"
#include "ops/builders.h"
#include "ops/inline_body.h"
#include "ops/op_table.h"
#include "support/expect_error.h"

namespace reprise {
namespace {

struct OpErrors : testing::Test {
  Trace trace;
  Builder b{trace};

  ValueId f(const Shape& shape, DType dtype = DType::float32) { return trace.add_input({dtype, shape, Device::cpu}, Role::batch, "x"); }
  ValueId i(const Shape& shape) { return f(shape, DType::int64); }
};

TEST_F(OpErrors, ShapesAndDevices) {
  Shape shape{1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_USER_ERROR(shape.append(1), "a shape has at most 8 dimensions; reshape the tensor to fewer");
  EXPECT_USER_ERROR(Shape{-1}, "an extent cannot be negative: -1");
  const ValueId elsewhere = trace.add_input({DType::float32, {2}, Device::cuda}, Role::batch, "far");
  EXPECT_USER_ERROR(ops::add(b, f({2}), elsewhere), "add: inputs must be on one device: float32[2], float32[2]@cuda");
}

TEST_F(OpErrors, Differentiation) {
  const ValueId x = f({2});
  const ValueId n = i({});
  const ValueId loss = ops::sum(b, x);
  trace.outputs = {loss, x, n};
  EXPECT_USER_ERROR(differentiate(trace, std::span(&x, 1), 3), "the trace has no output to differentiate: output 3 of 3");
  EXPECT_USER_ERROR(differentiate(trace, std::span(&x, 1), 1),
                    "only a floating scalar can be differentiated, reduce the loss first: float32[2]");
  EXPECT_USER_ERROR(differentiate(trace, std::span(&x, 1), 2),
                    "only a floating scalar can be differentiated, reduce the loss first: int64[]");
  EXPECT_USER_ERROR(differentiate(trace, std::span(&n, 1)), "gradients are taken with respect to floating inputs only: int64[]");
  EXPECT_USER_ERROR(differentiate(trace, std::span(&loss, 1)), "gradients are taken with respect to floating inputs only: float32[]");
  EXPECT_USER_ERROR(trainable_parameters(trace, "*,mlp.*"), "no parameter matches the pattern '*' of trainable");
}

TEST_F(OpErrors, Views) {
  const ValueId x = f({2, 3});
  EXPECT_USER_ERROR(ops::reshape(b, x, Shape{5}), "reshape: the element counts differ from [5]: float32[2, 3]");
  EXPECT_USER_ERROR(ops::expand(b, x, Shape{4, 3}), "only extents of 1 can be expanded, to [4, 3]");
  EXPECT_USER_ERROR(ops::permute(b, x, {0, 0}), "the order must name every dimension once");
  EXPECT_USER_ERROR(ops::permute(b, x, {0, 2}), "dimension 2 out of range for rank 2");
  EXPECT_USER_ERROR(ops::slice(b, x, 0, 0, 2, 0), "needs 0 <= start <= stop <= 2 and step >= 1, not 0:2:0");
  EXPECT_USER_ERROR(ops::squeeze(b, x, {0}), "only an extent of 1 can be removed, not dimension 0");
  EXPECT_USER_ERROR(ops::unsqueeze(b, x, {0, 0}), "dimension 0 is named twice");
  EXPECT_USER_ERROR(ops::unsqueeze(b, x, {3}), "dimension 3 out of range for rank 3");
  EXPECT_USER_ERROR(ops::unsqueeze(b, f({1, 1, 1, 1, 1, 1, 1, 1}), {0}), "the result would have more than 8 dimensions");
  EXPECT_USER_ERROR(ops::diagonal(b, f({3})), "needs two dimensions at least");
  EXPECT_USER_ERROR(ops::unfold(b, x, 1, 4, 1), "needs 1 <= size <= 3 and step >= 1, not size 4 and step 1");
  EXPECT_USER_ERROR(ops::as_strided(b, x, Shape{2}, {6}, 0), "the window [2] reaches outside its base of 6 elements, to element 6");
  EXPECT_USER_ERROR(ops::as_strided(b, x, Shape{2}, {}, 0), "needs a stride for every dimension");
}

TEST_F(OpErrors, Movement) {
  const ValueId x = f({2, 3});
  EXPECT_USER_ERROR(ops::split(b, x, 1, {1, 1}), "the sizes of a split must add up to the extent 3: 2");
  EXPECT_USER_ERROR(ops::cat(b, {}, 0), "needs at least one input");
  EXPECT_USER_ERROR(ops::cat(b, {x, f({2, 4})}, 0), "inputs must agree in dtype and in every extent but that of dimension 0");
  EXPECT_USER_ERROR(ops::flip(b, x, {1, -1}), "dimension -1 is named twice");
  EXPECT_USER_ERROR(ops::roll(b, x, 1, 2), "dimension 2 out of range for rank 2");
  EXPECT_USER_ERROR(ops::repeat(b, x, {2}), "needs a count for every dimension");
  EXPECT_USER_ERROR(ops::repeat(b, x, {2, -1}), "a count cannot be negative: -1");
  EXPECT_USER_ERROR(ops::pad(b, x, {0}, {0}), "needs a count before and after for every dimension");
  EXPECT_USER_ERROR(ops::pad(b, x, {0, -1}, {0, 0}), "a count cannot be negative; slice instead");
  EXPECT_USER_ERROR(ops::tril(b, f({3})), "needs two dimensions at least");
  EXPECT_USER_ERROR(ops::as_strided_scatter(b, x, f({2}, DType::float64), Shape{2}, {1}, 0), "base and source must have one dtype");
  EXPECT_USER_ERROR(ops::as_strided_scatter(b, x, f({3}), Shape{2}, {1}, 0), "the source must have the shape [2]");
  EXPECT_USER_ERROR(b.emit(op::as_strided_backward, {f({3})}, StridedAttrs{{2}, {1}, 0, {4}}), "the window must have the shape [2]");
}

TEST_F(OpErrors, Indexing) {
  const ValueId x = f({4, 3});
  EXPECT_USER_ERROR(ops::gather(b, x, 0, f({2, 3})), "input 1 holds indices and must be int32 or int64");
  EXPECT_USER_ERROR(ops::gather(b, x, 0, i({2, 4})), "the index must have the input's rank and fit in it but along dimension 0");
  EXPECT_USER_ERROR(ops::scatter(b, x, 0, i({2, 3}), f({2, 3}, DType::float64)), "input and source must have one dtype");
  EXPECT_USER_ERROR(ops::scatter_add(b, x, 0, i({2, 3}), f({1, 3})), "index and source must have one shape");
  EXPECT_USER_ERROR(ops::index_select(b, x, 0, i({2, 2})), "the index must have one dimension");
  EXPECT_USER_ERROR(ops::index_add(b, x, 0, i({1, 2}), f({2, 3})), "the index must have one dimension");
  EXPECT_USER_ERROR(ops::index_add(b, x, 0, i({2}), f({3, 3})), "the source must have the input's dtype and the shape [2, 3]");
  EXPECT_USER_ERROR(ops::index_put(b, x, {}, f({2, 3}), false), "needs an input, values and at least one index");
  EXPECT_USER_ERROR(ops::index_put(b, f({4}), {i({2}), i({2})}, f({2}), false), "has more indices than the input has dimensions");
  EXPECT_USER_ERROR(ops::index_put(b, x, {i({2}), i({3})}, f({2}), false), "the indices must have one shape");
  EXPECT_USER_ERROR(ops::index_put(b, x, {i({2})}, f({2}), false), "the values must have the input's dtype and the shape [2, 3]");
  EXPECT_USER_ERROR(ops::index_put(b, x, {i({1, 1, 1, 1, 1, 1, 1, 1})}, f({2}), false), "the values have too many dimensions");
  EXPECT_USER_ERROR(b.emit(op::embedding, {f({4}), i({2})}, EmbeddingAttrs{4, {}}), "the weight must be [rows, width]");
  EXPECT_USER_ERROR(b.emit(op::embedding, {x, i({2})}, EmbeddingAttrs{5, {}}), "the weight must have 5 rows");
  EXPECT_USER_ERROR(ops::embedding_backward(b, x, i({3}), 5), "the cotangent must have the index's shape and a width");
}

TEST_F(OpErrors, IndicesOutOfRange) {
  const auto run = [](std::int64_t index) {
    Trace own;
    Builder builder(own);
    const ValueId x = own.add_input({DType::float32, Shape{4, 3}, Device::cpu}, Role::batch, "x");
    const ValueId at = own.add_input({DType::int64, Shape{1}, Device::cpu}, Role::batch, "at");
    own.outputs = {ops::index_select(builder, x, 0, at)};
    return interpret(own, std::vector<HostTensor>{HostTensor(own.type(x)), HostTensor::of<std::int64_t>(Shape{1}, {index})});
  };
  EXPECT_NO_THROW(run(3));
  EXPECT_USER_ERROR(run(4), "index_select: index out of range for extent 4: 4");
  EXPECT_USER_ERROR(run(-1), "index_select: index out of range for extent 4: -1");
}

TEST_F(OpErrors, Products) {
  EXPECT_USER_ERROR(ops::matmul(b, f({2, 3}), f({4, 2})), "matmul: the extents that are summed over differ: float32[2, 3], float32[4, 2]");
  EXPECT_USER_ERROR(ops::matmul(b, f({2, 3}), f({3, 2}, DType::float64)), "inputs must have one floating dtype");
  EXPECT_USER_ERROR(ops::matmul(b, f({}), f({3})), "inputs must have at least one dimension");
  EXPECT_USER_ERROR(ops::matmul(b, f({3}), f({3}), true), "a vector cannot be transposed");
  EXPECT_USER_ERROR(ops::matmul(b, f({2, 2, 3}), f({3, 3, 2})), "the leading dimensions do not broadcast");
  const DType bf = DType::bfloat16;
  EXPECT_USER_ERROR(ops::matmul_accumulate(b, f({2, 2}, bf), f({2, 3}, bf), f({3, 2}, bf)), "the accumulator must be float32 or float64");
  EXPECT_USER_ERROR(ops::matmul_accumulate(b, f({2, 2}), f({2, 3}, DType::float64), f({3, 2}, DType::float64)),
                    "the factors must have one dtype that the accumulator holds");
  EXPECT_USER_ERROR(ops::matmul_accumulate(b, f({2, 2}), f({1, 2, 3}), f({3, 2})), "the factors must be matrices");
  EXPECT_USER_ERROR(ops::matmul_accumulate(b, f({2, 3}), f({2, 3}), f({3, 2})), "the accumulator must have the shape of the product");
  EXPECT_USER_ERROR(ops::linear(b, f({}), f({2, 3})), "the input must have at least one dimension");
  EXPECT_USER_ERROR(ops::linear(b, f({3}), f({3})), "the weight must be [out, in]");
  EXPECT_USER_ERROR(ops::linear(b, f({4}), f({2, 3})), "the input's last extent must be the weight's second");
  EXPECT_USER_ERROR(ops::linear(b, f({3}), f({2, 3}), f({3})), "the bias must be [out]");
}

TEST_F(OpErrors, NormsAndRope) {
  EXPECT_USER_ERROR(ops::layer_norm(b, f({}), ValueId(), ValueId(), 1e-5), "the input must have at least one dimension");
  EXPECT_USER_ERROR(ops::rms_norm(b, f({2, 3}), f({2}), 1e-5), "input 1 must be a vector of the input's dtype and last extent");
  EXPECT_USER_ERROR(ops::rms_norm_backward(b, f({2, 3}), f({3}), f({2, 3}), ValueId(), NormAttrs{}), "input 1 must be float32[2]");
  EXPECT_USER_ERROR(ops::rms_norm_backward(b, f({2, 3}), f({2}), f({2, 4}), ValueId(), NormAttrs{}),
                    "the cotangent must have the input's type");
  EXPECT_USER_ERROR(ops::rope(b, f({2, 4}), f({2, 4}), f({2, 2})), "the tables must have one type");
  EXPECT_USER_ERROR(ops::rope(b, f({2, 4}), f({2, 4}, DType::bfloat16), f({2, 4}, DType::bfloat16)),
                    "the tables must be float32 or the input's dtype");
  EXPECT_USER_ERROR(ops::rope(b, f({4}), f({2, 4}), f({2, 4})), "the tables must have a width, and no more dimensions than the input");
  EXPECT_USER_ERROR(ops::rope(b, f({2, 4}), f({2, 6}), f({2, 6})), "the tables are wider than a head: 6 and 4");
  EXPECT_USER_ERROR(ops::rope(b, f({2, 4}), f({2, 3}), f({2, 3}), RopeLayout::interleaved),
                    "pairs of neighbours need an even table width: 3");
  EXPECT_USER_ERROR(ops::rope(b, f({2, 4}), f({3, 4}), f({3, 4})), "the tables do not broadcast to the input");
}

TEST_F(OpErrors, CrossEntropy) {
  const CrossEntropyAttrs plain;
  CrossEntropyAttrs smooth;
  smooth.label_smoothing = 1.5;
  EXPECT_USER_ERROR(ops::cross_entropy(b, f({2, 3, 4}), i({2}), plain), "the logits must be [rows, classes]");
  EXPECT_USER_ERROR(ops::cross_entropy(b, f({2, 3}), i({3}), plain), "needs one target for every row");
  EXPECT_USER_ERROR(ops::cross_entropy(b, f({2, 3}), i({2}), smooth), "label smoothing must be between 0 and 1, not 1.5");
  EXPECT_USER_ERROR(ops::cross_entropy(b, f({2, 3}), i({2}), plain, f({2})), "needs one weight for every class");
  EXPECT_USER_ERROR(ops::cross_entropy_backward(b, f({2, 3}), i({2}), f({3}), f({2}), plain), "input 2 must be float32[2]");
  const auto run = [](std::int64_t target) {
    Trace own;
    Builder builder(own);
    const ValueId x = own.add_input({DType::float32, Shape{1, 3}, Device::cpu}, Role::batch, "x");
    const ValueId t = own.add_input({DType::int64, Shape{1}, Device::cpu}, Role::batch, "t");
    own.outputs = {ops::cross_entropy(builder, x, t, CrossEntropyAttrs{}).loss};
    return interpret(own, std::vector<HostTensor>{HostTensor(own.type(x)), HostTensor::of<std::int64_t>(Shape{1}, {target})});
  };
  EXPECT_NO_THROW(run(-100));
  EXPECT_USER_ERROR(run(3), "cross_entropy: target out of range for 3 classes: 3");
  // class weights are a choice of the caller's, not something to train
  const ValueId logits = f({2, 3});
  const ValueId weight = f({3});
  const auto loss = ops::cross_entropy(b, logits, i({2}), plain, weight);
  const Node node = trace.nodes.back();
  const std::vector<ValueId> cotangents = {loss.loss, ValueId()};
  const bool needs[] = {true, false, true};
  VjpContext context{b, node, cotangents, needs};
  EXPECT_USER_ERROR(op_row(op::cross_entropy).vjp(context), "the class weights of cross_entropy have no derivative");
}

TEST_F(OpErrors, Attention) {
  const auto attend = [&](const Shape& q, const Shape& k, const Shape& v, AttentionAttrs attrs = {}, ValueId bias = {}, ValueId mask = {},
                          ValueId segments = {}) {
    return ops::attention(b, {f(q), f(k), f(v), bias, mask, segments, ValueId(), ValueId()}, attrs);
  };
  const Shape one{1, 2, 3, 4};
  EXPECT_USER_ERROR(b.emit(op::attention, {f(one)}, AttentionAttrs{}), "takes at least 3 inputs");
  EXPECT_USER_ERROR(attend({2, 3, 4}, one, one), "q, k and v must have one dtype and four dimensions");
  EXPECT_USER_ERROR(attend(one, {1, 2, 3, 5}, one), "batches, key heads, key counts and the widths of q and k must agree");
  EXPECT_USER_ERROR(attend({1, 3, 3, 4}, one, one), "query heads must be a multiple of key heads: 3 and 2");
  AttentionAttrs attrs;
  attrs.dropout = 1;
  EXPECT_USER_ERROR(attend(one, one, one, attrs), "dropout must be at least 0 and below 1, not 1");
  attrs.dropout = 0;
  attrs.window = -1;
  EXPECT_USER_ERROR(attend(one, one, one, attrs), "window and soft cap cannot be negative");
  EXPECT_USER_ERROR(attend(one, one, one, {}, f({4, 3})), "the bias does not broadcast to the scores [1, 2, 3, 3]");
  EXPECT_USER_ERROR(attend(one, one, one, {}, f({3, 3}, DType::float64)), "the bias must have q's dtype");
  EXPECT_USER_ERROR(attend(one, one, one, {}, {}, f({3, 3})), "input 3 must be bool");
  EXPECT_USER_ERROR(attend(one, one, one, {}, {}, f({2, 3}, DType::boolean)), "the mask does not broadcast to the scores [1, 2, 3, 3]");
  EXPECT_USER_ERROR(attend(one, one, one, {}, {}, {}, f({1, 3})), "the segments must be int64 [batch, tokens]");
  EXPECT_USER_ERROR(attend(one, one, one, {}, {}, {}, i({3})), "the segments must be int64 [batch, tokens]");
  EXPECT_USER_ERROR(attend({1, 2, 2, 4}, one, one, {}, {}, {}, i({1, 3})), "segments need as many queries as keys, and offset 0");
  const ops::AttentionInputs inputs = {f(one), f(one), f(one), {}, {}, {}, {}, {}};
  EXPECT_USER_ERROR(ops::attention_backward(b, inputs, f(one), f({1, 2, 3}), f({1, 3, 2, 4}), {}),
                    "output and cotangent must be float32[1, 3, 2, 4]");
  EXPECT_USER_ERROR(ops::attention_backward(b, inputs, f({1, 3, 2, 4}), f({1, 2}), f({1, 3, 2, 4}), {}),
                    "the log-sum-exp must be float32[1, 2, 3]");
}

TEST_F(OpErrors, AttentionDropoutNeedsItsDraw) {
  AttentionAttrs attrs;
  attrs.dropout = 0.5;
  const Shape one{1, 1, 2, 2};
  const auto result = ops::attention(b, {f(one), f(one), f(one), {}, {}, {}, {}, {}}, attrs);
  trace.outputs = {result.out};
  const Node node = trace.nodes.back();
  const std::vector<ValueId> cotangents = {result.out, ValueId()};
  const bool needs[] = {true, true, true};
  VjpContext context{b, node, cotangents, needs};
  EXPECT_USER_ERROR(op_row(op::attention).vjp(context),
                    "attention with dropout needs its seed before it is differentiated; run the rng pass");
  const std::vector<HostTensor> values(3, HostTensor({DType::float32, one, Device::cpu}));
  EXPECT_USER_ERROR(interpret(trace, values), "with dropout needs a seed; run the rng pass first");
}

// ---- regions and collectives -------------------------------------------------------------------------------------

Trace doubling(const Shape& shape, DType dtype = DType::float32) {
  Trace body;
  body.name = "doubling";
  const ValueId x = body.add_input({dtype, shape, Device::cpu}, Role::batch, "x");
  Builder b(body);
  body.outputs = {ops::add(b, x, x)};
  return body;
}

TEST_F(OpErrors, Tiles) {
  const ValueId x = f({6, 3});
  EXPECT_USER_ERROR(b.emit(op::tile, {x}, TileAttrs{}), "tile: needs one body");
  EXPECT_USER_ERROR(ops::tile(b, {x}, doubling({2, 3}), TileAttrs{3, {}, {0}}),
                    "needs a tile at least, and a dimension or -1 for every input and output");
  EXPECT_USER_ERROR(ops::tile(b, {x}, doubling({2, 3}), TileAttrs{4, {0}, {0}}),
                    "float32[6, 3] cannot be cut into 4 equal tiles along dimension 0");
  EXPECT_USER_ERROR(ops::tile(b, {x}, doubling({3, 3}), TileAttrs{3, {0}, {0}}),
                    "input 0 of the body doubling is float32[3, 3], not float32[2, 3]");
  EXPECT_USER_ERROR(ops::tile(b, {x}, doubling({2, 3}), TileAttrs{3, {0}, {2}}), "output 0 has no dimension 2");
  EXPECT_USER_ERROR(ops::tile(b, {x, x}, doubling({2, 3}), TileAttrs{3, {0, 0}, {0}}), "the body doubling takes 1 inputs, not 2");
  const DType bf = DType::bfloat16;
  EXPECT_USER_ERROR(ops::tile(b, {f({6, 3}, bf)}, doubling({2, 3}, bf), TileAttrs{3, {0}, {-1}}),
                    "only float32 and float64 tiles can be added up");
}

TEST_F(OpErrors, CustomFunctions) {
  const ValueId x = f({3});
  EXPECT_USER_ERROR(b.emit(op::custom_function, {x}, CustomAttrs{}), "needs two bodies: forward and backward");
  EXPECT_USER_ERROR(ops::custom_function(b, {x}, doubling({3}), doubling({3}), "f"), "the body doubling takes 1 inputs, not 3");
  Trace backward;
  for (int n = 0; n < 3; ++n) backward.add_input({DType::float32, Shape{3}, Device::cpu}, Role::batch, "x");
  EXPECT_USER_ERROR(ops::custom_function(b, {x}, doubling({3}), backward, "f"),
                    "the backward body must give a cotangent for each of 1 inputs, not 0");
  Builder inner(backward);
  backward.outputs = {ops::sum(inner, backward.inputs[0].value)};
  EXPECT_USER_ERROR(ops::custom_function(b, {x}, doubling({3}), backward, "f"), "cotangent 0 must have the type of its input");
}

TEST_F(OpErrors, Collectives) {
  const ValueId x = f({3});
  EXPECT_USER_ERROR(ops::all_reduce(b, x, "data", 0), "group data must have a member at least, not 0");
  trace.outputs = {ops::all_reduce(b, x, "data", 2)};
  const std::vector<HostTensor> values = {HostTensor(trace.type(x))};
  EXPECT_USER_ERROR(interpret(trace, values), "group data has 2 members, but one process evaluates alone");
}

TEST(InlineBody, KeepsNamesModulesAndTags) {
  Trace body = doubling({3});
  body.nodes[0].module = "block.mlp";
  body[body.outputs[0]].name = "twice";
  body[body.outputs[0]].tags = {{TagKind::must_save, "user"}};
  Trace trace;
  const ValueId x = trace.add_input({DType::float32, Shape{3}, Device::cpu}, Role::batch, "x");
  Builder b(trace);
  b.context.phase = Phase::backward;
  const ValueId first = inline_body(b, body, std::vector<ValueId>{x})[0];
  const ValueId second = inline_body(b, body, std::vector<ValueId>{first})[0];
  EXPECT_EQ(trace[first].name, "twice");
  EXPECT_EQ(trace[second].name, "twice.2");
  EXPECT_EQ(trace[second].tags, (std::vector<Tag>{{TagKind::must_save, "user"}}));
  EXPECT_EQ(trace.nodes[1].module, Interned("block.mlp"));
  EXPECT_EQ(trace.nodes[1].phase, Phase::backward);
}

}  // namespace
}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Every op the loops claim, on every sample of the op table and on larger ones, against the table's own evaluation: bit for bit, at every
// instruction set this machine has, for several thread counts, input layouts and storage in place.
#include "executor/loops/executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"
#include "ops/eval_context.h"
#include "ops/op_table.h"
#include "support/expect_error.h"
#include "unit/loops/levels.h"

namespace reprise {
namespace {

using Bytes = std::vector<std::byte>;

/// One node with its inputs, dense, and what `evaluate` makes of them.
struct Case {
  std::string name;
  Node node;
  std::vector<TensorType> inputs, outputs;
  std::vector<Bytes> in, expected;
};

Bytes random_input(const SampleInput& input, std::uint64_t seed) {
  const TensorType& type = input.type;
  Bytes bytes(static_cast<std::size_t>(type.bytes()));
  for (std::size_t i = 0; i < static_cast<std::size_t>(type.shape.numel()); ++i) {
    const double u = uniform_double(philox_word(seed, i));
    const double real = input.low + u * (input.high - input.low);
    const auto whole = static_cast<std::int64_t>(input.low + u * (input.high - input.low + 0.999));
    std::byte* const to = bytes.data() + i * dtype_size(type.dtype);
    const auto put = [to](auto value) { std::memcpy(to, &value, sizeof(value)); };
    switch (type.dtype) {
      case DType::float32: put(static_cast<float>(real)); break;
      case DType::float64: put(static_cast<double>(static_cast<float>(real))); break;
      case DType::bfloat16: put(to_bfloat16(static_cast<float>(real))); break;
      case DType::float16: put(to_float16(static_cast<float>(real))); break;
      case DType::int32: put(static_cast<std::int32_t>(whole)); break;
      case DType::int64: put(whole); break;
      case DType::boolean: put(u < 0.5); break;
    }
  }
  return bytes;
}

/// The case of a sample, or nothing when the op does not take these types.
std::optional<Case> make_case(Opcode opcode, const OpSample& sample) {
  const OpRow& row = op_row(opcode);
  Case c;
  c.name = std::string(opcode_name(opcode)) + "/" + sample.name;
  c.node.opcode = opcode;
  c.node.attrs = sample.attrs;
  c.node.bodies = sample.bodies;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    c.node.inputs.push_back(ValueId(i));
    c.inputs.push_back(sample.inputs[i].type);
    c.in.push_back(random_input(sample.inputs[i], 11 + i));
  }
  try {
    c.outputs = row.infer(c.node, c.inputs);
  } catch (const UserError&) {
    return std::nullopt;
  }
  if (!row.evaluate) return std::nullopt;
  std::vector<ArrayRef> in;
  std::vector<ArrayRef> out;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) in.push_back({&c.inputs[i], c.in[i].data()});
  for (const TensorType& type : c.outputs) c.expected.emplace_back(static_cast<std::size_t>(type.bytes()));
  for (std::size_t i = 0; i < c.outputs.size(); ++i) out.push_back({&c.outputs[i], c.expected[i].data()});
  const EvalContext::RunBody no_body = [](const Trace&, std::span<const ArrayRef>, std::span<const ArrayRef>) {};
  EvalContext context(c.node, in, out, no_body);
  row.evaluate(context);
  return c;
}

/// An input laid out as far from dense as a claim allows.
struct Strided {
  Bytes bytes;
  std::vector<std::int64_t> strides;
};

Strided lay_out(const Bytes& dense, const TensorType& type, InputLayout layout) {
  const std::size_t rank = type.shape.rank();
  std::vector<std::size_t> order(rank);  // dimensions from the slowest to the fastest in storage
  for (std::size_t d = 0; d < rank; ++d) order[d] = d;
  if (layout == InputLayout::any) std::reverse(order.begin(), order.end());
  if (layout == InputLayout::rows && rank > 1) std::reverse(order.begin(), order.end() - 1);
  if (layout == InputLayout::matrices && rank > 1) std::swap(order[rank - 1], order[rank - 2]);
  Strided result;
  result.strides.resize(rank);
  std::int64_t stride = 1;
  for (std::size_t k = rank; k-- > 0;) {
    result.strides[order[k]] = stride;
    stride *= type.shape[order[k]];
  }
  const std::size_t size = dtype_size(type.dtype);
  result.bytes.resize(dense.size());
  for (std::int64_t i = 0; i < type.shape.numel(); ++i) {
    std::int64_t rest = i;
    std::int64_t at = 0;
    for (std::size_t d = rank; d-- > 0;) {
      at += rest % type.shape[d] * result.strides[d];
      rest /= type.shape[d];
    }
    std::memcpy(result.bytes.data() + static_cast<std::size_t>(at) * size, dense.data() + static_cast<std::size_t>(i) * size, size);
  }
  return result;
}

enum class Storage { dense, strided, in_place };

/// Runs the kernel of a claimed case and compares all outputs.
void expect_kernel(const Case& c, const Claim& claim, const Target& target, int threads, Storage storage) {
  std::vector<Strided> in;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    in.push_back(lay_out(c.in[i], c.inputs[i], storage == Storage::strided ? claim.layout(i) : InputLayout::dense));
    ASSERT_TRUE(layout_satisfies(claim.layout(i), c.inputs[i].shape, in.back().strides)) << c.name;
  }
  std::vector<Bytes> out;
  for (const TensorType& type : c.outputs) out.emplace_back(static_cast<std::size_t>(type.bytes()), std::byte{0x5A});
  std::vector<std::vector<std::int64_t>> out_strides;
  for (const TensorType& type : c.outputs) out_strides.push_back(type.shape.dense_strides());
  std::vector<TensorView> inputs;
  std::vector<TensorView> outputs;
  for (std::size_t i = 0; i < in.size(); ++i) inputs.push_back({nullptr, &c.inputs[i], in[i].strides});
  for (std::size_t i = 0; i < out.size(); ++i) outputs.push_back({nullptr, &c.outputs[i], out_strides[i]});
  const Kernel kernel = loops_executor().bind({c.node, inputs, outputs, target, threads});
  for (std::size_t i = 0; i < in.size(); ++i) inputs[i].data = in[i].bytes.data();
  for (std::size_t i = 0; i < out.size(); ++i) outputs[i].data = out[i].data();
  if (storage == Storage::in_place) {
    std::set<std::uint32_t> used_inputs;
    std::set<std::uint32_t> used_outputs;
    for (const InPlacePair& pair : claim.in_place) {
      if (!used_inputs.insert(pair.input).second || !used_outputs.insert(pair.output).second) continue;
      ASSERT_EQ(c.inputs[pair.input].bytes(), c.outputs[pair.output].bytes()) << c.name;
      outputs[pair.output].data = in[pair.input].bytes.data();
    }
  }
  std::vector<std::byte> workspace(static_cast<std::size_t>(claim.workspace_bytes) + 64, std::byte{0xFF});
  auto* const aligned = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(workspace.data()) + 63) / 64 * 64);
  ThreadPool pool(threads);
  kernel({inputs, outputs, std::span(aligned, static_cast<std::size_t>(claim.workspace_bytes)), pool});
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (c.expected[i].empty()) continue;
    EXPECT_EQ(std::memcmp(outputs[i].data, c.expected[i].data(), c.expected[i].size()), 0)
        << c.name << " output " << i << " " << c.outputs[i].str() << " isa " << isa_name(target.isa) << " threads " << threads
        << " storage " << static_cast<int>(storage);
  }
}

/// Checks a case when the loops claim it; returns whether they do.
bool check(const Case& c) {
  bool claimed = false;
  for (const IsaLevel level : loops::levels_here()) {
    Target target = detect_target();
    target.isa = level;
    for (const int threads : {1, 3}) {
      const auto claim = loops_executor().claim({c.node, c.inputs, c.outputs, target, threads});
      if (!claim) return false;
      claimed = true;
      EXPECT_TRUE(claim->row_stable);
      for (const Storage storage : {Storage::dense, Storage::strided, Storage::in_place}) {
        if (storage == Storage::in_place && claim->in_place.empty()) continue;
        if (storage == Storage::strided && claim->layouts.empty()) continue;
        expect_kernel(c, *claim, target, threads, storage);
      }
    }
  }
  return claimed;
}

OpSample with_dtype(OpSample sample, DType dtype) {
  for (SampleInput& input : sample.inputs) {
    if (input.type.dtype == DType::float32) input.type.dtype = dtype;
  }
  return sample;
}

TEST(LoopsExecutor, EverySampleOfEveryClaimedOpEqualsItsEvaluation) {
  std::map<std::string, int> claimed;
  for (std::size_t index = 0; index < kBuiltinOpcodeCount; ++index) {
    const Opcode opcode{static_cast<std::uint16_t>(index)};
    std::vector<OpSample> samples;
    try {
      samples = op_row(opcode).samples();
    } catch (const InternalError&) {
      continue;
    }
    for (const OpSample& sample : samples) {
      for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
        const auto c = make_case(opcode, with_dtype(sample, dtype));
        if (c && check(*c)) claimed[std::string(opcode_name(opcode))] += 1;
      }
    }
  }
  for (const char* name : {"full", "cast", "copy", "add", "gelu", "gelu_backward", "where", "masked_fill", "sum", "mean", "sum_squares",
                           "softmax", "cat", "pad", "embedding", "embedding_backward", "matmul", "matmul_accumulate", "linear",
                           "layer_norm", "layer_norm_backward", "rms_norm", "rms_norm_backward", "rope", "rope_backward", "cross_entropy",
                           "cross_entropy_backward", "attention", "attention_backward", "gather", "scatter", "scatter_add", "index_select",
                           "index_add", "philox_dropout", "clip_coefficient", "adamw"}) {
    EXPECT_GT(claimed[name], 0) << name;
  }
}

SampleInput real(Shape shape, DType dtype = DType::float32) { return {TensorType{dtype, shape, Device::cpu}, -2, 2}; }
SampleInput index(Shape shape, double high) { return {TensorType{DType::int64, shape, Device::cpu}, 0, high}; }

// Shapes beyond the samples': more than a chunk, a block or a tile, and broadcasts of every kind.
TEST(LoopsExecutor, LargerShapesEqualTheirEvaluation) {
  const NormAttrs both{1e-5, false, true, true};
  const NormAttrs weight{1e-5, true, true, false};
  const std::vector<std::pair<Opcode, OpSample>> samples = {
      {op::add, {"bias", {real({37, 130}), real({130})}, NoAttrs{}, {}}},
      {op::mul, {"column", {real({37, 130}), real({37, 1})}, NoAttrs{}, {}}},
      {op::sub, {"outer", {real({40, 1}), real({1, 50})}, NoAttrs{}, {}}},
      {op::div, {"middle", {real({3, 1, 70}), real({3, 20, 70})}, NoAttrs{}, {}}},
      {op::add, {"short_inner", {real({50, 60, 3}), real({60, 1})}, NoAttrs{}, {}}},
      {op::gelu, {"long", {real({3000})}, GeluAttrs{}, {}}},
      {op::silu_backward, {"long", {real({40, 90}), real({40, 90})}, NoAttrs{}, {}}},
      {op::copy, {"large", {real({40, 33, 20})}, NoAttrs{}, {}}},
      {op::cat, {"heads", {real({2, 40, 5, 20}), real({2, 40, 1, 20}), real({2, 40, 3, 20})}, DimAttrs{2}, {}}},
      {op::cat, {"columns", {real({90, 1}), real({90, 0}), real({90, 7000})}, DimAttrs{-1}, {}}},
      {op::cat, {"rows", {real({1, 6, 50}), real({9, 6, 50})}, DimAttrs{0}, {}}},
      {op::sum, {"rows", {real({5, 5000})}, ReduceAttrs{Ints{1}, false, 0}, {}}},
      {op::var, {"rows", {real({5, 5000})}, ReduceAttrs{Ints{-1}, false, 1}, {}}},
      {op::sum, {"columns", {real({1100, 70})}, ReduceAttrs{Ints{0}, false, 0}, {}}},
      {op::var, {"middle", {real({2, 600, 70})}, ReduceAttrs{Ints{1}, true, 0}, {}}},
      {op::mean, {"all", {real({9, 5000})}, ReduceAttrs{}, {}}},
      {op::var, {"all", {real({9, 5000})}, ReduceAttrs{}, {}}},
      {op::sum_squares, {"all", {real({9, 5000})}, NoAttrs{}, {}}},
      {op::softmax, {"blocks", {real({3, 9000})}, DimAttrs{-1}, {}}},
      {op::logsumexp, {"blocks", {real({3, 9000})}, DimAttrs{-1}, {}}},
      {op::layer_norm, {"wide", {real({9, 777}), real({777}), real({777})}, both, {}}},
      {op::rms_norm, {"wide", {real({9, 777}), real({777})}, weight, {}}},
      {op::layer_norm_backward, {"tall", {real({1100, 70}), real({1100}), real({1100}), real({1100, 70}), real({70})}, both, {}}},
      {op::rms_norm_backward, {"tall", {real({1100, 70}), real({1100}), real({1100, 70}), real({70})}, weight, {}}},
      {op::cross_entropy, {"blocks", {real({5, 9000}), index({5}, 8999)}, CrossEntropyAttrs{-100, 0.1, 0.01, false}, {}}},
      {op::cross_entropy_backward,
       {"blocks", {real({5, 9000}), index({5}, 8999), real({5}), real({5})}, CrossEntropyAttrs{-100, 0.1, 0.01, false}, {}}},
      {op::linear, {"blocks", {real({70, 600}), real({110, 600}), real({110})}, NoAttrs{}, {}}},
      {op::linear, {"strips", {real({600, 5}), real({2100, 5}), real({2100})}, NoAttrs{}, {}}},
      {op::matmul, {"strips", {real({2110, 3}), real({3, 2060})}, MatmulAttrs{}, {}}},
      {op::matmul, {"batch", {real({3, 2, 20, 30}), real({2, 30, 50})}, MatmulAttrs{}, {}}},
      {op::matmul_accumulate, {"blocks", {real({40, 50}), real({600, 40}), real({600, 50})}, MatmulAttrs{true, false}, {}}},
      {op::rope, {"heads", {real({2, 3, 40, 16}), real({40, 8}), real({40, 8})}, RopeAttrs{}, {}}},
      {op::embedding_backward, {"rows", {real({300, 40}), index({300}, 19)}, EmbeddingAttrs{20, 3}, {}}},
      {op::embedding_backward, {"strips", {real({50, 100}), index({50}, 19)}, EmbeddingAttrs{20, 3}, {}}},
      {op::index_select, {"rows", {real({4, 30, 20}), index({9}, 29)}, DimAttrs{1}, {}}},
      {op::gather, {"middle", {real({4, 30, 20}), index({3, 50, 11}, 29)}, DimAttrs{1}, {}}},
      {op::scatter, {"middle", {real({4, 30, 20}), index({3, 50, 11}, 29), real({3, 50, 11})}, DimAttrs{1}, {}}},
      {op::attention, {"tiles", {real({1, 4, 150, 16}), real({1, 2, 150, 16}), real({1, 2, 150, 16})}, AttentionAttrs{.causal = true}, {}}},
  };
  for (const auto& [opcode, sample] : samples) {
    for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
      OpSample variant = with_dtype(sample, dtype);
      if (dtype == DType::bfloat16) {  // statistics and losses stay float32
        const auto narrow = [&](std::initializer_list<std::size_t> wide) {
          for (const std::size_t i : wide) variant.inputs[i].type.dtype = DType::float32;
        };
        if (opcode == op::layer_norm_backward) narrow({1, 2});
        if (opcode == op::rms_norm_backward) narrow({1});
        if (opcode == op::cross_entropy_backward) narrow({2, 3});
        if (opcode == op::rope) narrow({1, 2});
        if (opcode == op::matmul_accumulate) narrow({0});
      }
      const auto c = make_case(opcode, variant);
      ASSERT_TRUE(c.has_value()) << opcode_name(opcode) << "/" << sample.name << " " << dtype_name(dtype);
      EXPECT_TRUE(check(*c)) << c->name << " " << dtype_name(dtype);
    }
  }
}

// Float32 sums of bfloat16 results are rounded part by part: they never need room beside the whole result.
TEST(LoopsExecutor, WorkspacesOfBfloat16ResultsDoNotGrowWithThem) {
  const auto workspace = [](Opcode opcode, const std::vector<Shape>& shapes, const Shape& result, const Attrs& attrs) {
    Node node;
    node.opcode = opcode;
    node.attrs = attrs;
    std::vector<TensorType> inputs;
    for (const Shape& shape : shapes) inputs.push_back({DType::bfloat16, shape, Device::cpu});
    if (opcode == op::embedding_backward) inputs[1].dtype = DType::int64;
    const std::vector<TensorType> outputs = {{DType::bfloat16, result, Device::cpu}};
    const auto claim = loops_executor().claim({node, inputs, outputs, detect_target(), 2});
    return claim ? claim->workspace_bytes : -1;
  };
  const auto product = [&](std::int64_t m, std::int64_t n) { return workspace(op::linear, {{m, 64}, {n, 64}}, {m, n}, NoAttrs{}); };
  EXPECT_GT(product(4096, 8192), 0);
  EXPECT_EQ(product(4096, 8192), product(65536, 8192));
  EXPECT_EQ(product(4096, 8192), product(4096, 131072));
  EXPECT_LT(product(16, 16), product(4096, 8192));
  const auto embedding = [&](std::int64_t width) {
    return workspace(op::embedding_backward, {{512, width}, {512}}, {50257, width}, EmbeddingAttrs{50257, {}});
  };
  EXPECT_GT(embedding(64), 0);
  EXPECT_EQ(embedding(64), embedding(8192));
}

TEST(LoopsExecutor, BadIndicesAreErrors) {
  const auto run = [](Opcode opcode, const OpSample& sample, std::size_t input, std::int64_t bad) {
    auto c = make_case(opcode, sample);
    std::memcpy(c->in[input].data(), &bad, sizeof(bad));
    const Target target = detect_target();
    const auto claim = loops_executor().claim({c->node, c->inputs, c->outputs, target, 1});
    expect_kernel(*c, *claim, target, 1, Storage::dense);
  };
  EXPECT_USER_ERROR(run(op::embedding, {"", {real({5, 3}), index({2}, 4)}, EmbeddingAttrs{5, {}}, {}}, 1, 5),
                    "embedding: index out of range for extent 5: 5");
  EXPECT_USER_ERROR(run(op::embedding_backward, {"", {real({2, 3}), index({2}, 4)}, EmbeddingAttrs{5, {}}, {}}, 1, -1),
                    "embedding_backward: index out of range for extent 5: -1");
  EXPECT_USER_ERROR(run(op::adamw, op_row(op::adamw).samples().front(), 5, 0), "adamw: steps count from 1: 0");
  EXPECT_USER_ERROR(run(op::index_select, {"", {real({5, 3}), index({2}, 4)}, DimAttrs{0}, {}}, 1, 7),
                    "index_select: index out of range for extent 5: 7");
  EXPECT_USER_ERROR(run(op::scatter_add, {"", {real({5, 3}), index({2, 3}, 4), real({2, 3})}, DimAttrs{0}, {}}, 1, 9),
                    "scatter_add: index out of range for extent 5: 9");
  EXPECT_USER_ERROR(run(op::index_add, {"", {real({5, 3}), index({2}, 4), real({2, 3})}, IndexAddAttrs{0, 1}, {}}, 1, 9),
                    "index_add: index out of range for extent 5: 9");
  EXPECT_USER_ERROR(run(op::gather, {"", {real({5, 3}), index({2, 3}, 4)}, DimAttrs{0}, {}}, 1, 7),
                    "gather: index out of range for extent 5: 7");
  EXPECT_USER_ERROR(run(op::scatter, {"", {real({5, 3}), index({2, 3}, 4), real({2, 3})}, DimAttrs{0}, {}}, 1, -2),
                    "scatter: index out of range for extent 5: -2");
  EXPECT_USER_ERROR(
      run(op::cross_entropy_backward, {"", {real({2, 4}), index({2}, 3), real({2}), real({2})}, CrossEntropyAttrs{}, {}}, 1, 4),
      "cross_entropy_backward: target out of range for 4 classes: 4");
  EXPECT_USER_ERROR(run(op::cross_entropy, {"", {real({2, 4}), index({2}, 3)}, CrossEntropyAttrs{}, {}}, 1, 4),
                    "cross_entropy: target out of range for 4 classes: 4");
}

}  // namespace
}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// The tracer: scopes, inputs, tags, and the operators of tensors.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "nn/layers.h"
#include "support/expect_error.h"

namespace reprise {
namespace {

/// One linear layer used twice, and a head that shares its matrix.
struct Twice : Module {
  Twice() {
    inner = add_module("inner", Linear(4, 4, true, Initializer::normal(0.02)));
    again = add_module("again", inner);
    head = add_module("head", Linear(inner.weight, false));
  }
  Tensor operator()(const Tensor& x) const { return head(again(inner(x))); }
  Linear inner, again, head;
};

TEST(Tracer, ScopesInputsAndTags) {
  Tracer tracer("test");
  const Tensor x = tracer.input("x", {DType::float32, {2, 4}, Device::cpu}, Role::batch);
  const Twice model;
  Tensor y;
  {
    const Tracer::Scope outer = tracer.module("outer");
    const Tracer::Scope block = tracer.region("block0");
    const Tracer::Scope attn = tracer.region("attn");
    y = model(x) * 2.0;
  }
  const Tensor z = y + x;
  tracer.tag(z, TagKind::must_save);
  tracer.output(z);
  const TracedProgram program = std::move(tracer).finish();
  const Trace& trace = program.trace;
  // Named by first use; the layer used twice and the tied head are one input each.
  ASSERT_EQ(trace.inputs.size(), 3u);
  EXPECT_EQ(trace[trace.inputs[1].value].name, "outer.inner.weight");
  EXPECT_EQ(trace[trace.inputs[2].value].name, "outer.inner.bias");
  EXPECT_EQ(trace.inputs[1].role, Role::param);
  ASSERT_EQ(program.parameters.size(), 2u);
  EXPECT_EQ(program.parameters[0].name, "outer.inner.weight");
  ASSERT_EQ(trace.nodes.size(), 5u);
  EXPECT_EQ(trace.nodes[0].module.view(), "outer.inner");
  EXPECT_EQ(trace.nodes[2].module.view(), "outer.head");
  EXPECT_EQ(trace.nodes[2].inputs[1], trace.nodes[0].inputs[1]);
  EXPECT_EQ(trace.nodes[3].module.view(), "outer");
  EXPECT_EQ(trace.nodes[3].region.view(), "block0/attn");
  EXPECT_EQ(trace.nodes[3].source.file.view(), "tracer_test.cpp");
  EXPECT_EQ(trace.nodes[0].source.file.view(), "nn/layers.cpp");
  EXPECT_GT(trace.nodes[4].source.line, trace.nodes[3].source.line);
  EXPECT_TRUE(trace.nodes[4].module.empty());
  EXPECT_TRUE(trace.nodes[4].region.empty());
  EXPECT_EQ(trace[trace.outputs[0]].tags, (std::vector<Tag>{{TagKind::must_save, "user"}}));
}

TEST(Tracer, EveryRegionHasANameOfItsOwn) {
  const auto names = [](const std::vector<std::string>& given) {
    Tracer tracer("test");
    const Tensor x = tracer.input("x", {DType::float32, {2}, Device::cpu}, Role::batch);
    std::vector<std::string> made;
    for (const std::string& name : given) {
      const Tracer::Scope region = tracer.region(name);
      tracer.output(x.tanh());
      made.push_back(tracer.trace().nodes.back().region.str());
    }
    return made;
  };
  EXPECT_EQ(names({"r", "r", "r.2"}), (std::vector<std::string>{"r", "r.2", "r.2.2"}));
  EXPECT_EQ(names({"r.2", "r", "r", "r"}), (std::vector<std::string>{"r.2", "r", "r.3", "r.4"}));
}

TEST(Tracer, DeclaredNamesAreFullNames) {
  Tracer tracer("test");
  const Twice model;
  tracer.declare(model);
  const Tensor x = tracer.input("x", {DType::float32, {2, 4}, Device::cpu}, Role::batch);
  tracer.output(model(x));
  const TracedProgram program = std::move(tracer).finish();
  EXPECT_EQ(program.trace[program.trace.inputs[0].value].name, "inner.weight");
  EXPECT_EQ(program.trace[program.trace.inputs[2].value].name, "x");
}

TEST(Tracer, LayersMadeAndDroppedWhileTracingAreParametersOfTheirOwn) {
  Tracer tracer("test");
  Tensor x = tracer.input("x", {DType::float32, {2, 4}, Device::cpu}, Role::batch);
  for (int i = 0; i < 50; ++i) x = Linear(4, 4, false, Initializer::normal(0.02))(x);
  tracer.output(x);
  EXPECT_EQ(std::move(tracer).finish().parameters.size(), 50u);
}

TEST(Tracer, ConstantsAreOneInput) {
  Tracer tracer("test", DType::float64);
  const std::vector<double> values = {1.5, -2};
  const Tensor a = tracer.constant("table", {2}, values, DType::float64);
  EXPECT_EQ(tracer.constant("table", {2}, values, DType::float64).id(), a.id());
  const TracedProgram program = std::move(tracer).finish();
  ASSERT_EQ(program.state.size(), 1u);
  EXPECT_EQ(std::memcmp(program.state[0].bytes.data(), values.data(), sizeof(double) * 2), 0);
  EXPECT_EQ(program.trace.inputs[0].role, Role::state);
}

TEST(Tensor, InPlaceOpsMoveTheHandle) {
  Tracer tracer("test");
  Tensor x = tracer.input("x", {DType::float32, {3}, Device::cpu}, Role::batch);
  const ValueId before = x.id();
  x.mul_(2.0).add_(x);
  EXPECT_NE(x.id(), before);
  ASSERT_EQ(tracer.trace().nodes.size(), 2u);
  EXPECT_TRUE(tracer.trace().nodes[0].in_place);
  EXPECT_EQ(tracer.trace().nodes[0].inputs[0], before);
  EXPECT_EQ(tracer.trace().nodes[1].inputs[0], tracer.trace().nodes[0].outputs[0]);
}

TEST(Tensor, ThatNoTraceMadeIsRefused) {
  Tracer tracer("test");
  const Tensor x = tracer.input("x", {DType::float32, {3}, Device::cpu}, Role::batch);
  const char* const phrase = "a tensor is used that no trace made; make it of the inputs";
  EXPECT_USER_ERROR(Tensor().tanh(), phrase);
  EXPECT_USER_ERROR(Tensor().reshape({1}), phrase);
  EXPECT_USER_ERROR(Tensor().shape(), phrase);
  EXPECT_USER_ERROR(x + Tensor(), phrase);
  EXPECT_USER_ERROR(Tensor() + x, phrase);
  EXPECT_USER_ERROR(tracer.tag(Tensor(), TagKind::must_save), phrase);
  EXPECT_USER_ERROR(tracer.output(Tensor()), phrase);
}

TEST(Tensor, OperandsOfTwoTracers) {
  Tracer one("one");
  Tracer two("two");
  const TensorType type{DType::float32, {3}, Device::cpu};
  const Tensor x = one.input("x", type, Role::batch);
  const Tensor y = two.input("y", type, Role::batch);
  EXPECT_USER_ERROR(one.tag(y, TagKind::must_save), "a tensor of another tracer; make it inside this trace");
  EXPECT_USER_ERROR(one.named(y, "y"), "a tensor of another tracer");
  EXPECT_USER_ERROR(one.output(y), "a tensor of another tracer");
  EXPECT_USER_ERROR(x + y, "the operands come from two tracers");
}

}  // namespace
}  // namespace reprise

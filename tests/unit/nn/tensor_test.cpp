// SPDX-License-Identifier: Apache-2.0
// Operators and methods of tensors against values worked out by hand, through the interpreter.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "interpreter/interpreter.h"
#include "nn/tracer.h"
#include "ops/builders.h"
#include "ops/custom_field.h"
#include "ops/op_table.h"
#include "support/expect_error.h"
#include "support/tolerance.h"

namespace reprise {
namespace {

/// Traces `body` on x = [[1, 2, 3], [4, 5, 6]] and y = [10, 20, 30] (float64) and returns its result.
HostTensor evaluated(const std::function<Tensor(const Tensor& x, const Tensor& y)>& body) {
  Tracer tracer("test", DType::float64);
  const Tensor x = tracer.input("x", {DType::float64, {2, 3}, Device::cpu}, Role::batch);
  const Tensor y = tracer.input("y", {DType::float64, {3}, Device::cpu}, Role::batch);
  tracer.output(body(x, y));
  const TracedProgram program = std::move(tracer).finish();
  const std::vector<HostTensor> inputs = {HostTensor::of<double>({2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6}),
                                          HostTensor::of<double>({3}, std::vector<double>{10, 20, 30})};
  return interpret(program.trace, inputs)[0];
}

void expect(const std::function<Tensor(const Tensor&, const Tensor&)>& body, const Shape& shape, const std::vector<double>& values) {
  const HostTensor result = evaluated(body);
  EXPECT_EQ(result.shape(), shape);
  const std::vector<double> numbers = result.numbers();
  ASSERT_EQ(numbers.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(test::near(numbers[i], values[i], test::tolerance(DType::float64)))
        << i << ": " << numbers[i] << ", expected " << values[i];
  }
}

/// An index tensor start, start + 1, ...
Tensor indices(const Tensor& like, const Shape& shape, std::int64_t start) {
  Builder& b = like.tracer().builder();
  const Tensor flat{like.tracer(), b.emit(op::iota, {}, IotaAttrs{shape.numel(), start, 1, DType::int64})};
  return flat.reshape(shape);
}

TEST(Tensor, Arithmetic) {
  expect([](const Tensor& x, const Tensor& y) { return x + y; }, {2, 3}, {11, 22, 33, 14, 25, 36});
  expect([](const Tensor& x, const Tensor& y) { return y - x; }, {2, 3}, {9, 18, 27, 6, 15, 24});
  expect([](const Tensor& x, const Tensor& y) { return x * y; }, {2, 3}, {10, 40, 90, 40, 100, 180});
  expect([](const Tensor& x, const Tensor& y) { return y / x; }, {2, 3}, {10, 10, 10, 2.5, 4, 5});
  expect([](const Tensor& x, const Tensor&) { return -(2.0 * x + 1.0); }, {2, 3}, {-3, -5, -7, -9, -11, -13});
  expect([](const Tensor& x, const Tensor&) { return 1.0 + (x - 1.0) / 2.0; }, {2, 3}, {1, 1.5, 2, 2.5, 3, 3.5});
  expect([](const Tensor& x, const Tensor& y) { return where(x * 8.0 < y, x, y); }, {2, 3}, {1, 2, 3, 10, 20, 30});
  expect([](const Tensor& x, const Tensor& y) { return where(x * 10.0 <= y, x, y); }, {2, 3}, {1, 2, 3, 10, 20, 30});
}

TEST(Tensor, Pointwise) {
  const auto each = [](double (*f)(double)) {
    std::vector<double> values;
    for (int i = 1; i <= 6; ++i) values.push_back(f(i));
    return values;
  };
  expect([](const Tensor& x, const Tensor&) { return x.exp(); }, {2, 3}, each([](double v) { return std::exp(v); }));
  expect([](const Tensor& x, const Tensor&) { return x.log(); }, {2, 3}, each([](double v) { return std::log(v); }));
  expect([](const Tensor& x, const Tensor&) { return x.sqrt(); }, {2, 3}, each([](double v) { return std::sqrt(v); }));
  expect([](const Tensor& x, const Tensor&) { return x.square(); }, {2, 3}, each([](double v) { return v * v; }));
  expect([](const Tensor& x, const Tensor&) { return x.pow(3); }, {2, 3}, each([](double v) { return v * v * v; }));
  expect([](const Tensor& x, const Tensor&) { return x.tanh(); }, {2, 3}, each([](double v) { return std::tanh(v); }));
  expect([](const Tensor& x, const Tensor&) { return x.sigmoid(); }, {2, 3}, each([](double v) { return 1 / (1 + std::exp(-v)); }));
  expect([](const Tensor& x, const Tensor&) { return x.silu(); }, {2, 3}, each([](double v) { return v / (1 + std::exp(-v)); }));
  expect([](const Tensor& x, const Tensor&) { return (x - 3.0).relu(); }, {2, 3}, {0, 0, 0, 1, 2, 3});
  expect([](const Tensor& x, const Tensor&) { return x.gelu(); }, {2, 3},
         each([](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); }));
  expect([](const Tensor& x, const Tensor&) { return x.cast(DType::int64).cast(DType::float64); }, {2, 3}, {1, 2, 3, 4, 5, 6});
  expect([](const Tensor& x, const Tensor&) { return x.dropout(0); }, {2, 3}, {1, 2, 3, 4, 5, 6});
}

TEST(Tensor, Views) {
  expect([](const Tensor& x, const Tensor&) { return x.reshape({3, 2}); }, {3, 2}, {1, 2, 3, 4, 5, 6});
  expect([](const Tensor& x, const Tensor&) { return x.transpose(0, 1); }, {3, 2}, {1, 4, 2, 5, 3, 6});
  expect([](const Tensor& x, const Tensor&) { return x.permute({1, 0}); }, {3, 2}, {1, 4, 2, 5, 3, 6});
  expect([](const Tensor& x, const Tensor&) { return x.slice(-1, -2, 3); }, {2, 2}, {2, 3, 5, 6});
  expect([](const Tensor& x, const Tensor&) { return x.select(0, -1); }, {3}, {4, 5, 6});
  expect([](const Tensor& x, const Tensor&) { return x.unsqueeze({1}).squeeze({1}); }, {2, 3}, {1, 2, 3, 4, 5, 6});
  expect([](const Tensor&, const Tensor& y) { return y.expand({2, 3}); }, {2, 3}, {10, 20, 30, 10, 20, 30});
  expect([](const Tensor& x, const Tensor&) { return x.split(1, {1, 2})[1]; }, {2, 2}, {2, 3, 5, 6});
  expect([](const Tensor& x, const Tensor&) { return cat({x, x.slice(0, 0, 1)}, 0); }, {3, 3}, {1, 2, 3, 4, 5, 6, 1, 2, 3});
}

TEST(Tensor, ProductsReductionsIndexing) {
  expect([](const Tensor& x, const Tensor&) { return x.matmul(x, false, true); }, {2, 2}, {14, 32, 32, 77});
  expect([](const Tensor& x, const Tensor&) { return x.sum(); }, {}, {21});
  expect([](const Tensor& x, const Tensor&) { return x.mean(Ints{1}, true); }, {2, 1}, {2, 5});
  const double e = std::exp(1.0);
  const double total = 1 + e + e * e;
  expect([](const Tensor& x, const Tensor&) { return x.slice(0, 0, 1).softmax(-1); }, {1, 3}, {1 / total, e / total, e * e / total});
  expect([](const Tensor& x, const Tensor&) { return x.slice(0, 0, 1).log_softmax(-1).exp(); }, {1, 3},
         {1 / total, e / total, e * e / total});
  expect([](const Tensor& x, const Tensor&) { return x.index_select(1, indices(x, {2}, 1)); }, {2, 2}, {2, 3, 5, 6});
  expect([](const Tensor& x, const Tensor&) { return x.gather(1, indices(x, {2, 1}, 1)); }, {2, 1}, {2, 6});
  expect([](const Tensor& x, const Tensor& y) { return x.scatter(1, indices(x, {1, 3}, 0), y.reshape({1, 3})); }, {2, 3},
         {10, 20, 30, 4, 5, 6});
  expect([](const Tensor& x, const Tensor&) { return x.embedding(indices(x, {1, 1}, 1)); }, {1, 1, 3}, {4, 5, 6});
}

TEST(Tensor, UserOpsAreCalledByName) {
  OpRow row;
  row.infer = [](const Node& node, std::span<const TensorType> inputs) {
    require_known_fields(node, {"shift"});
    return std::vector{inputs[0], inputs[0]};
  };
  row.decompose = [](Builder& b, const Node& node, std::span<const ValueId> inputs) {
    const double shift = custom_field<double>(node, "shift", 1.0);
    return std::vector{ops::add_scalar(b, inputs[0], shift), ops::mul(b, inputs[0], inputs[1])};
  };
  register_op("tensor_test_pair", row);
  expect([](const Tensor& x, const Tensor& y) { return custom_op("tensor_test_pair", {x, y})[0]; }, {2, 3}, {2, 3, 4, 5, 6, 7});
  expect([](const Tensor& x, const Tensor& y) { return custom_op("tensor_test_pair", {x, y}, {{"shift", 2}})[0]; }, {2, 3},
         {3, 4, 5, 6, 7, 8});
  expect([](const Tensor& x, const Tensor& y) { return custom_op("tensor_test_pair", {x, y})[1]; }, {2, 3}, {10, 40, 90, 40, 100, 180});
  Tracer tracer("errors");
  const Tensor x = tracer.input("x", {DType::float32, {2}}, Role::batch);
  EXPECT_USER_ERROR(custom_op("tensor_test_pear", {x}),
                    "there is no user op 'tensor_test_pear'; did you mean \"tensor_test_pair\"?; register it first");
  EXPECT_USER_ERROR(custom_op("matmul", {x, x}), "there is no user op 'matmul'");
  EXPECT_USER_ERROR(custom_op("tensor_test_pair", {}), "an op needs an input to know its trace by: tensor_test_pair");
  EXPECT_USER_ERROR(custom_op("tensor_test_pair", {x, x}, {{"shfit", 2}}),
                    "tensor_test_pair: there is no field 'shfit'; did you mean \"shift\"?");
}

TEST(Tensor, InPlaceWritesThroughViews) {
  const auto body = [](const Tensor& x, const Tensor& y) {
    Tensor whole = x * 1.0;
    Tensor row = whole.select(0, 1);
    row.mul_(y).add_(1.0).sub_(y).div_(y);
    return whole;
  };
  expect(body, {2, 3}, {1, 2, 3, 31.0 / 10, 81.0 / 20, 151.0 / 30});
  expect([](const Tensor& x, const Tensor&) { return (x - 4.0).mul_(2.0).relu_(); }, {2, 3}, {0, 0, 0, 0, 2, 4});
}

}  // namespace
}  // namespace reprise

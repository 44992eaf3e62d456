// SPDX-License-Identifier: Apache-2.0
// The op table's `evaluate` of every elementary function against correctly rounded tables: within a few units in the
// last place in float32, the special values -0, infinities and NaN included. The functions' own bounds, tighter, are in
// tests/unit/base/elementary_test.cpp: here it counts that the rows reach them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "interpreter/interpreter.h"
#include "ops/builders.h"
#include "support/reference_data.h"

namespace reprise {
namespace {

constexpr double kUlp = 4;
constexpr double kUlpOfGeluTanh = 200;  // its far tail is e^t of a t of size 100: half an ulp of t is that much
constexpr std::size_t kSpecials = 5;      // +0, -0, +inf, -inf, NaN come first

double ulp_error(float actual, double exact) {
  const double spacing = std::ldexp(1.0, std::max(std::ilogb(exact == 0 ? 1e-300 : exact), -126) - 23);
  return std::abs(actual - exact) / spacing;
}

TEST(ReferenceElementary, EvaluateInFloat32) {
  REPRISE_NEEDS_REFERENCE("ops/elementary.safetensors");
  const SafetensorsFile file = SafetensorsFile::open(test::reference_folder() / "ops" / "elementary.safetensors");
  using Emit = std::function<ValueId(Builder&, ValueId)>;
  std::map<std::string, Emit> functions;
  for (const Opcode opcode : {op::exp, op::exp2, op::expm1, op::tanh, op::sigmoid, op::erf, op::log, op::log2, op::log1p, op::sin,
                              op::cos, op::sqrt, op::rsqrt, op::silu, op::softplus}) {
    functions[std::string(opcode_name(opcode))] = [opcode](Builder& b, ValueId x) { return ops::unary(b, opcode, x); };
  }
  functions["gelu"] = [](Builder& b, ValueId x) { return ops::gelu(b, x, false); };
  functions["gelu_tanh"] = [](Builder& b, ValueId x) { return ops::gelu(b, x, true); };

  std::size_t checked = 0;
  for (const SafetensorsTensor& tensor : file.tensors()) {
    if (!tensor.name.ends_with(".x")) continue;
    const std::string name = tensor.name.substr(0, tensor.name.size() - 2);
    ASSERT_TRUE(functions.contains(name)) << name;
    const HostTensor x = test::to_host_tensor(tensor);
    const HostTensor rounded = test::to_host_tensor(*file.find(name + ".f32"));
    const HostTensor exact = test::to_host_tensor(*file.find(name + ".f64"));
    Trace trace;
    Builder b(trace);
    trace.outputs = {functions[name](b, trace.add_input(x.type(), Role::batch, "x"))};
    const HostTensor y = interpret(trace, std::vector<HostTensor>{x}).at(0);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const float value = y.as<float>()[i];
      const float wanted = rounded.as<float>()[i];
      const std::string what = fmt::format("{}({}) = {}, expected {}", name, x.as<float>()[i], value, wanted);
      if (std::isnan(wanted) || std::isinf(wanted)) {
        EXPECT_TRUE(std::isnan(wanted) ? std::isnan(value) : value == wanted) << what;
      } else {
        EXPECT_LE(ulp_error(value, exact.number(i)), name == "gelu_tanh" ? kUlpOfGeluTanh : kUlp) << what;
        EXPECT_TRUE(wanted != 0 || i >= kSpecials || std::signbit(value) == std::signbit(wanted)) << what;
      }
    }
    ++checked;
  }
  EXPECT_EQ(checked, functions.size());
}

}  // namespace
}  // namespace reprise

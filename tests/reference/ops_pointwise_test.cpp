// SPDX-License-Identifier: Apache-2.0
// Pointwise ops of one, two and three inputs against PyTorch's values and gradients.
#include <gtest/gtest.h>

#include <map>

#include "reference/op_cases.h"
#include "support/reference_data.h"

namespace reprise::test {
namespace {

TEST(ReferencePointwise, EveryCase) {
  REPRISE_NEEDS_REFERENCE("ops/pointwise.safetensors");
  OpCases cases("pointwise");
  const std::map<std::string, Opcode> plain = {
      {"silu", op::silu},     {"relu", op::relu},   {"squared_relu", op::squared_relu}, {"sigmoid", op::sigmoid},
      {"tanh", op::tanh},     {"erf", op::erf},     {"exp", op::exp},                   {"softplus", op::softplus},
      {"logsigmoid", op::logsigmoid}, {"abs", op::abs}, {"neg", op::neg},               {"sin", op::sin},
      {"cos", op::cos},       {"square", op::square}, {"expm1", op::expm1},             {"sign", op::sign},
      {"floor", op::floor},   {"round", op::round}, {"log", op::log},                   {"sqrt", op::sqrt},
      {"rsqrt", op::rsqrt},   {"reciprocal", op::reciprocal}, {"log1p", op::log1p},     {"log2", op::log2},
      {"exp2", op::exp2},     {"log_at_0_and_negative", op::log}, {"sqrt_at_0", op::sqrt}, {"rsqrt_at_0", op::rsqrt}};
  for (const auto& [name, opcode] : plain) {
    cases.check(name, one([opcode = opcode](Builder& b, ValueId x) { return ops::unary(b, opcode, x); }));
  }
  cases.check("gelu_exact", one([](Builder& b, ValueId x) { return ops::gelu(b, x, false); }));
  cases.check("gelu_tanh", one([](Builder& b, ValueId x) { return ops::gelu(b, x, true); }));
  for (const std::string name : {"clamp_both", "clamp_min", "clamp_max", "hardtanh_bounds"}) {
    cases.check(name, one([&](Builder& b, ValueId x) {
                  const auto bound = [&](const char* key) {
                    const Json* found = cases.attribute(name, key);
                    return found ? std::optional(found->number()) : std::nullopt;
                  };
                  return ops::clamp(b, x, bound("min"), bound("max"));
                }));
  }
  cases.check("clamp_tensor_bounds", [](Builder& b, const Ids& in) -> Ids {
    return {ops::binary(b, op::minimum, ops::binary(b, op::maximum, in[0], in[1]), in[2])};
  });
  cases.check("softcap", one([&](Builder& b, ValueId x) { return ops::softcap(b, x, cases.number("softcap", "cap")); }));
  for (const char* name : {"pow_tensor", "pow_tensor_zero_base"}) {
    cases.check(name, [](Builder& b, const Ids& in) -> Ids { return {ops::binary(b, op::pow, in[0], in[1])}; });
  }
  cases.check_all("pow_", [&](const std::string& name) {
    return one([&cases, name](Builder& b, ValueId x) { return ops::pow_scalar(b, x, cases.number(name, "exponent")); });
  });
  // silu and gelu of -inf (outputs 3 to 5) are their limit -0 here, as in elementary.safetensors, and NaN in PyTorch.
  const CaseFunction specials = [](Builder& b, const Ids& in) -> Ids {
    return {ops::exp(b, in[0]),         ops::tanh(b, in[0]),       ops::sigmoid(b, in[0]), ops::silu(b, in[0]),
            ops::gelu(b, in[0], false), ops::gelu(b, in[0], true), ops::relu(b, in[0]),    ops::unary(b, op::erf, in[0])};
  };
  cases.check("specials", specials, {.compare_gradients = false, .skipped_outputs = {3, 4, 5}});
  cases.expect_all_done();
}

TEST(ReferenceBinary, EveryCase) {
  REPRISE_NEEDS_REFERENCE("ops/binary.safetensors");
  OpCases cases("binary");
  const std::map<std::string, Opcode> families = {{"add_", op::add}, {"sub_", op::sub}, {"mul_", op::mul}, {"div_", op::div},
                                                  {"maximum_", op::maximum}, {"minimum_", op::minimum}, {"fmod", op::fmod}};
  for (const auto& [prefix, opcode] : families) {
    cases.check_all(prefix, [opcode = opcode](const std::string&) -> CaseFunction {
      return [opcode](Builder& b, const Ids& in) -> Ids { return {ops::binary(b, opcode, in[0], in[1])}; };
    }, {.length = 12});
  }
  cases.check("where", [](Builder& b, const Ids& in) -> Ids { return {ops::where(b, in[0], in[1], in[2])}; });
  cases.check("where_guards_nan", [](Builder& b, const Ids& in) -> Ids {
    return {ops::where(b, in[0], ops::sqrt(b, in[1]), ops::full(b, Shape{}, b.dtype(in[1]), 0))};
  });
  cases.check("lerp", [&](Builder& b, const Ids& in) -> Ids { return {ops::lerp(b, in[0], in[1], cases.number("lerp", "weight"))}; });
  cases.check("addcmul", [&](Builder& b, const Ids& in) -> Ids {
    return {ops::addcmul(b, in[0], in[1], in[2], cases.number("addcmul", "value"))};
  });
  cases.check("masked_fill", [](Builder& b, const Ids& in) -> Ids {
    return {ops::masked_fill(b, in[0], in[1], -std::numeric_limits<double>::infinity())};
  });
  cases.expect_all_done();
}

}  // namespace
}  // namespace reprise::test

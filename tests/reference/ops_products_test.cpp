// SPDX-License-Identifier: Apache-2.0
// Matrix products and norms against PyTorch's values and gradients.
#include <gtest/gtest.h>

#include "reference/op_cases.h"
#include "support/reference_data.h"

namespace reprise::test {
namespace {

TEST(ReferenceLinear, EveryCase) {
  REPRISE_NEEDS_REFERENCE("ops/linear.safetensors");
  OpCases cases("linear");
  cases.check("conv1d_layout", [](Builder& b, const Ids& in) -> Ids { return {ops::add(b, ops::matmul(b, in[0], in[1]), in[2])}; },
              {.length = 32});
  cases.check_all("", [](const std::string&) -> CaseFunction {
    return [](Builder& b, const Ids& in) -> Ids { return {ops::linear(b, in[0], in[1], in.size() == 3 ? in[2] : ValueId())}; };
  }, {.length = 64});
  cases.expect_all_done();
}

TEST(ReferenceMatmul, EveryCase) {
  REPRISE_NEEDS_REFERENCE("ops/matmul.safetensors");
  OpCases cases("matmul");
  cases.check("transposed_both", [](Builder& b, const Ids& in) -> Ids { return {ops::matmul(b, in[0], in[1], true, true)}; },
              {.length = 32});
  cases.check_all("", [](const std::string&) -> CaseFunction {
    return [](Builder& b, const Ids& in) -> Ids { return {ops::matmul(b, in[0], in[1])}; };
  }, {.length = 64});
  cases.check("2d", [](Builder& b, const Ids& in) -> Ids {
    return {ops::matmul(b, ops::transpose(b, in[0], 0, 1), ops::transpose(b, in[1], 0, 1), true, true)};
  }, {.length = 32});
  cases.expect_all_done();
}

TEST(ReferenceLayerNorm, EveryCase) {
  REPRISE_NEEDS_REFERENCE("ops/layer_norm.safetensors");
  OpCases cases("layer_norm");
  const auto function = [&](const std::string& name) -> CaseFunction {
    return [&cases, name](Builder& b, const Ids& in) -> Ids {
      const ValueId weight = in.size() > 1 ? in[1] : ValueId();
      const ValueId bias = in.size() > 2 ? in[2] : ValueId();
      return {ops::layer_norm(b, in[0], weight, bias, cases.number(name, "eps")).y};
    };
  };
  // the mean of 1000 takes four digits from float32, in PyTorch as here
  cases.check("offset", function("offset"), {.length = 4000});
  // what is left of a constant row after its mean is rounding, times 1 / sqrt(eps)
  cases.check("constant_row", function("constant_row"), {.length = 4000});
  cases.check_all("", function, {.length = 200});
  cases.expect_all_done();
}

TEST(ReferenceRmsNorm, EveryCase) {
  REPRISE_NEEDS_REFERENCE("ops/rms_norm.safetensors");
  OpCases cases("rms_norm");
  cases.check_all("", [&](const std::string& name) -> CaseFunction {
    return [&cases, name](Builder& b, const Ids& in) -> Ids {
      const Json* const offset = cases.attribute(name, "add_unit_offset");
      return {
          ops::rms_norm(b, in[0], in.size() > 1 ? in[1] : ValueId(), cases.number(name, "eps"), offset != nullptr && offset->boolean()).y};
    };
  }, {.length = 200});
  cases.expect_all_done();
}

}  // namespace
}  // namespace reprise::test

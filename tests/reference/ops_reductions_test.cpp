// SPDX-License-Identifier: Apache-2.0
// Reductions, scans, softmax and ordering against PyTorch's values and gradients.
#include <gtest/gtest.h>

#include <map>

#include "reference/op_cases.h"
#include "support/reference_data.h"

namespace reprise::test {
namespace {

TEST(ReferenceReductions, EveryCase) {
  REPRISE_NEEDS_REFERENCE("ops/reductions.safetensors");
  OpCases cases("reductions");
  const CaseOptions summed = {.length = 30};
  cases.check("max_dim_ties", [](Builder& b, const Ids& in) -> Ids { return {ops::max_dim(b, in[0], -1).values}; });
  const std::vector<std::pair<std::string, Opcode>> families = {
      {"sum_", op::sum}, {"mean_", op::mean}, {"amax_", op::amax}, {"amin_", op::amin}, {"prod_", op::prod},
      {"var", op::var},  {"std", op::std},    {"norm2", op::norm2}};
  for (const auto& [prefix, opcode] : families) {
    cases.check_all(prefix, [&cases, opcode = opcode](const std::string& name) -> CaseFunction {
      ReduceAttrs attrs;
      const Json* dims = cases.attribute(name, "dims");
      const Json* keepdim = cases.attribute(name, "keepdim");
      const Json* correction = cases.attribute(name, "correction");
      if (dims != nullptr && !dims->is_null()) {
        attrs.dims.emplace();
        for (const Json& dim : dims->items()) attrs.dims->push_back(dim.integer());
      }
      attrs.keepdim = keepdim != nullptr && keepdim->boolean();
      attrs.correction = correction != nullptr ? correction->integer() : 0;
      return [attrs, opcode](Builder& b, const Ids& in) -> Ids { return {b.emit(opcode, {in[0]}, attrs)}; };
    }, summed);
  }
  cases.check_all("cumsum", [&](const std::string& name) -> CaseFunction {
    return [&cases, name](Builder& b, const Ids& in) -> Ids { return {ops::cumsum(b, in[0], cases.integer(name, "dim"))}; };
  }, summed);
  cases.check("cumprod", [](Builder& b, const Ids& in) -> Ids { return {ops::cumprod(b, in[0], 0)}; }, summed);
  cases.expect_all_done();
}

TEST(ReferenceSoftmax, EveryCase) {
  REPRISE_NEEDS_REFERENCE("ops/softmax.safetensors");
  OpCases cases("softmax");
  cases.check_all("", [&](const std::string& name) -> CaseFunction {
    return [&cases, name](Builder& b, const Ids& in) -> Ids { return {ops::softmax(b, in[0], cases.integer(name, "dim"))}; };
  }, {.length = 8});
  cases.expect_all_done();
}

TEST(ReferenceLogSoftmax, EveryCase) {
  REPRISE_NEEDS_REFERENCE("ops/log_softmax.safetensors");
  OpCases cases("log_softmax");
  cases.check("logsumexp", [](Builder& b, const Ids& in) -> Ids { return {ops::logsumexp(b, in[0], -1)}; }, {.length = 8});
  cases.check_all("", [&](const std::string& name) -> CaseFunction {
    return [&cases, name](Builder& b, const Ids& in) -> Ids { return {ops::log_softmax(b, in[0], cases.integer(name, "dim"))}; };
  }, {.length = 8});
  cases.expect_all_done();
}

TEST(ReferenceOrder, EveryCase) {
  REPRISE_NEEDS_REFERENCE("ops/order.safetensors");
  OpCases cases("order");
  const auto dim = [&cases](const std::string& name) {
    const Json* found = cases.attribute(name, "dim");
    return found != nullptr ? found->integer() : -1;
  };
  cases.check_all("argmax", [&](const std::string& name) -> CaseFunction {
    return [=](Builder& b, const Ids& in) -> Ids { return {ops::argmax(b, in[0], dim(name))}; };
  });
  cases.check("argmin_0", [](Builder& b, const Ids& in) -> Ids { return {ops::argmin(b, in[0], 0)}; });
  cases.check_all("topk_", [&](const std::string& name) -> CaseFunction {
    const Json* largest = cases.attribute(name, "largest");
    return [=, &cases](Builder& b, const Ids& in) -> Ids {
      const auto top = ops::topk(b, in[0], cases.integer(name, "k"), dim(name), largest == nullptr || largest->boolean());
      return {top.values, top.indices};
    };
  });
  cases.check("argsort_int", [](Builder& b, const Ids& in) -> Ids { return {ops::sort(b, in[0]).indices}; });
  cases.check("bincount", [](Builder& b, const Ids& in) -> Ids { return {ops::bincount(b, in[0], 6)}; });
  cases.check_all("sort", [&](const std::string& name) -> CaseFunction {
    const Json* descending = cases.attribute(name, "descending");
    return [=](Builder& b, const Ids& in) -> Ids {
      const auto sorted = ops::sort(b, in[0], dim(name), descending != nullptr && descending->boolean());
      return {sorted.values, sorted.indices};
    };
  });
  cases.expect_all_done();
}

}  // namespace
}  // namespace reprise::test

// SPDX-License-Identifier: Apache-2.0
// The cases of one file of reference/ops: each is built as a trace, differentiated, run by the interpreter in float64 and
// in float32, and compared, gradients included.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "interpreter/host_tensor.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "ops/builders.h"

namespace reprise::test {

using Ids = std::vector<ValueId>;

/// Emits the case's function: inputs in the order of the index -> outputs.
using CaseFunction = std::function<Ids(Builder&, const Ids&)>;

/// A function of the first input with one output.
inline CaseFunction one(std::function<ValueId(Builder&, ValueId)> f) {
  return [f = std::move(f)](Builder& b, const Ids& in) -> Ids { return {f(b, in[0])}; };
}

struct CaseOptions {
  std::int64_t length = 1;                // terms that the longest sum adds up, for the tolerance
  bool compare_gradients = true;
  std::set<std::size_t> skipped_outputs = {};  // where the reference is one choice of several
};

class OpCases {
 public:
  /// Opens reference/ops/NAME.safetensors and its part of the index. Call REPRISE_NEEDS_REFERENCE first.
  explicit OpCases(const std::string& name);

  std::vector<std::string> names() const;
  /// The attribute `key` of a case, or null.
  const Json* attribute(const std::string& name, std::string_view key) const;
  double number(const std::string& name, std::string_view key) const { return attribute(name, key)->number(); }
  std::int64_t integer(const std::string& name, std::string_view key) const { return attribute(name, key)->integer(); }
  /// The tensor NAME.part; fails the test when there is none.
  HostTensor tensor(const std::string& name, const std::string& part) const;

  /// Checks one case and counts it as done.
  void check(const std::string& name, const CaseFunction& function, const CaseOptions& options = {});
  /// Checks every case whose name starts with `prefix`.
  void check_all(const std::string& prefix, const std::function<CaseFunction(const std::string&)>& function,
                 const CaseOptions& options = {});
  void skip(const std::string& name) { done_.insert(name); }
  /// Fails for every case that nothing checked.
  void expect_all_done() const;

 private:
  void check_in(DType dtype, const std::string& name, const CaseFunction& function, const CaseOptions& options) const;
  const Json& entry(const std::string& name) const;

  std::string file_;
  Json index_;
  SafetensorsFile tensors_;
  std::set<std::string> done_;
};

/// Fails the test, naming `what` and the first few places, unless the numbers agree within tolerance(actual's dtype, length).
void expect_near(const HostTensor& actual, const HostTensor& expected, std::int64_t length, const std::string& what);

}  // namespace reprise::test

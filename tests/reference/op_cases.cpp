// SPDX-License-Identifier: Apache-2.0
#include "reference/op_cases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "autograd/differentiate.h"
#include "interpreter/interpreter.h"
#include "support/reference_data.h"
#include "support/tolerance.h"

namespace reprise::test {
namespace {

const Json& member(const Json& object, std::string_view key) {
  const Json* found = object.find(key);
  if (found == nullptr) throw std::runtime_error(fmt::format("the index of reference cases has no '{}'", key));
  return *found;
}

std::vector<std::string> strings(const Json* list) {
  std::vector<std::string> result;
  if (list != nullptr) {
    for (const Json& item : list->items()) result.push_back(item.string());
  }
  return result;
}

/// Name of output or upstream gradient `i` of `count`: "out", or "out0", "out1", ...
std::string numbered(const char* stem, std::size_t i, std::size_t count) {
  return count == 1 ? stem : fmt::format("{}{}", stem, i);
}

}  // namespace

void expect_near(const HostTensor& actual, const HostTensor& expected, std::int64_t length, const std::string& what) {
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  const std::vector<double> a = actual.numbers();
  const std::vector<double> e = converted(expected, actual.dtype()).numbers();  // an overflow is one in both
  const double bound = tolerance(actual.dtype(), length);
  int shown = 0;
  for (std::size_t i = 0; i < a.size() && shown < 4; ++i) {
    if (near(a[i], e[i], bound)) continue;
    ADD_FAILURE() << fmt::format("{} in {}: element {} is {}, expected {}", what, dtype_name(actual.dtype()), i, a[i], e[i]);
    ++shown;
  }
}

OpCases::OpCases(const std::string& name)
    : file_(name),
      index_(member(member(read_json(reference_folder() / "ops" / "index.json"), name), "cases")),
      tensors_(SafetensorsFile::open(reference_folder() / "ops" / (name + ".safetensors"))) {}

std::vector<std::string> OpCases::names() const {
  std::vector<std::string> result;
  for (const JsonMember& one : index_.members()) result.push_back(one.key);
  return result;
}

const Json& OpCases::entry(const std::string& name) const { return member(index_, name); }

const Json* OpCases::attribute(const std::string& name, std::string_view key) const {
  return member(entry(name), "attrs").find(key);
}

HostTensor OpCases::tensor(const std::string& name, const std::string& part) const {
  const SafetensorsTensor* found = tensors_.find(name + "." + part);
  if (found == nullptr) throw std::runtime_error(fmt::format("no tensor {}.{} in {}", name, part, tensors_.path().string()));
  return to_host_tensor(*found);
}

void OpCases::check(const std::string& name, const CaseFunction& function, const CaseOptions& options) {
  done_.insert(name);
  check_in(DType::float64, name, function, options);
  check_in(DType::float32, name, function, options);
}

void OpCases::check_all(const std::string& prefix, const std::function<CaseFunction(const std::string&)>& function,
                        const CaseOptions& options) {
  for (const std::string& name : names()) {
    if (name.starts_with(prefix) && !done_.contains(name)) check(name, function(name), options);
  }
}

void OpCases::expect_all_done() const {
  for (const std::string& name : names()) EXPECT_TRUE(done_.contains(name)) << "nothing checked case " << file_ << "." << name;
}

void OpCases::check_in(DType dtype, const std::string& name, const CaseFunction& function, const CaseOptions& options) const {
  const Json& entry = this->entry(name);
  const std::string what = file_ + "." + name;
  const std::vector<std::string> input_names = strings(entry.find("inputs"));
  const auto count = static_cast<std::size_t>(member(entry, "outputs").integer());
  const auto in_dtype = [dtype](const HostTensor& tensor) { return is_floating(tensor.dtype()) ? converted(tensor, dtype) : tensor; };

  Trace trace;
  Builder b(trace);
  std::vector<ValueId> inputs;
  std::vector<HostTensor> values;
  const auto add = [&](const std::string& part) {
    values.push_back(in_dtype(tensor(name, part)));
    return trace.add_input(values.back().type(), Role::batch, part);
  };
  for (const std::string& input : input_names) inputs.push_back(add("in." + input));
  const std::vector<ValueId> outputs = function(b, inputs);
  ASSERT_EQ(outputs.size(), count) << what;
  trace.outputs = outputs;

  std::vector<std::string> gradients = strings(entry.find("gradients"));
  if (!options.compare_gradients) gradients.clear();
  JointTrace joint{trace, {}, {}};
  if (!gradients.empty()) {
    ValueId loss;
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_floating(b.dtype(outputs[i]))) continue;
      const ValueId term = ops::sum(b, ops::mul(b, outputs[i], add(numbered("gy", i, count))));
      loss = loss.valid() ? ops::add(b, loss, term) : term;
    }
    trace.outputs.push_back(loss);
    std::vector<ValueId> wrt;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (std::find(gradients.begin(), gradients.end(), input_names[i]) != gradients.end()) wrt.push_back(inputs[i]);
    }
    joint = differentiate(trace, wrt, count);
  }
  const std::vector<HostTensor> results = interpret(joint.trace, values);
  for (std::size_t i = 0; i < count; ++i) {
    if (options.skipped_outputs.contains(i)) continue;
    const std::string part = numbered("out", i, count);
    expect_near(results[i], tensor(name, part), options.length, what + "." + part);
  }
  std::size_t next = count + 1;
  for (const std::string& input : input_names) {
    if (std::find(gradients.begin(), gradients.end(), input) == gradients.end()) continue;
    expect_near(results[next++], tensor(name, "grad." + input), options.length, what + ".grad." + input);
  }
}

}  // namespace reprise::test

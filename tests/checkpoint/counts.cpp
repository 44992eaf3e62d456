// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/counts.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "analysis/saved.h"
#include "ops/op_table.h"

namespace reprise::test {
namespace {

using NamePair = std::pair<std::string_view, std::string_view>;

/// What a reprise op is counted as. Ops of constants move no bytes that anyone waits for, but are counted with the moves.
constexpr std::array<NamePair, 20> kOps{{
    {"gelu", "gelu"},       {"silu", "silu"},        {"sigmoid", "sigmoid"},       {"exp", "exp"},
    {"softmax", "softmax"}, {"rms_norm", "norm"},    {"rope", "rope"},             {"topk", "topk"},
    {"add", "add"},         {"add_scalar", "add"},   {"mul", "mul"},               {"mul_scalar", "mul"},
    {"cast", "cast"},       {"copy", "copy"},        {"philox_dropout", "dropout"}, {"philox_uniform", "draw"},
    {"philox_normal", "draw"}, {"scatter_add", "move"}, {"gather", "move"},        {"full", "move"},
}};

/// What a measured operation is counted as: of a composite one telling part.
constexpr std::array<NamePair, 22> kMeasured{{
    {"gelu.default", "gelu"},         {"silu.default", "silu"},        {"sigmoid.default", "sigmoid"},  {"exp.default", "exp"},
    {"_softmax.default", "softmax"},  {"_safe_softmax.default", "softmax"}, {"rsqrt.default", "norm"},  {"neg.default", "rope"},
    {"topk.default", "topk"},         {"add.Tensor", "add"},           {"add_.Tensor", "add"},          {"index_add.default", "add"},
    {"mul.Tensor", "mul"},            {"mul_.Tensor", "mul"},          {"_to_copy.default", "cast"},    {"clone.default", "copy"},
    {"bernoulli_.float", "dropout"},  {"rand_like.default", "draw"},   {"randn.default", "draw"},       {"index.Tensor", "move"},
    {"zeros_like.default", "move"},   {"nonzero.default", "move"},
}};

template <std::size_t N>
std::string_view find(const std::array<NamePair, N>& names, std::string_view name) {
  const auto* const found = std::find_if(names.begin(), names.end(), [&](const NamePair& pair) { return pair.first == name; });
  return found == names.end() ? std::string_view() : found->second;
}

/// Counts a node that runs again; of a custom function what it is made of.
void count_again(const Node& node, Counts& counts) {
  if (node.opcode == op::custom_function) {
    for (const Node& part : node.bodies[0].nodes) count_again(part, counts);
    return;
  }
  // A reshape that is no view is a copy.
  const std::string_view name = node.opcode == op::reshape ? "copy" : find(kOps, opcode_name(node.opcode));
  if (name.empty()) throw std::runtime_error("an op that is not counted runs again: " + std::string(opcode_name(node.opcode)));
  ++counts.again[std::string(name)];
}

int count(const Json& operations, std::string_view name) {
  const Json* const found = operations.find(name);
  return found == nullptr ? 0 : static_cast<int>(found->integer());
}

}  // namespace

std::string Counts::again_text() const {
  std::string text;
  for (const auto& [name, times] : again) text += (text.empty() ? "" : ", ") + name + " " + std::to_string(times);
  return text;
}

Counts counts_of(const Trace& trace, bool attention_is_products) {
  Counts counts;
  counts.bytes = saved_for_backward(trace).bytes;
  for (const Node& node : trace.nodes) {
    if (node.phase == Phase::forward || node.executor == "view") continue;
    if (node.opcode == op::attention || node.opcode == op::attention_backward) {
      if (attention_is_products) counts.products += node.opcode == op::attention ? 2 : 4;
      else ++counts.attentions;
    } else if (has_trait(op_row(node.opcode).traits, Trait::matmul)) {
      ++counts.products;
    } else if (node.phase == Phase::recompute) {
      count_again(node, counts);
    }
  }
  return counts;
}

Counts measured_counts(const Json& variant, const Json& without) {
  constexpr std::string_view kAttention = "_scaled_dot_product_flash_attention_for_cpu";
  const Json& operations = *variant.find("ops_backward");
  Counts counts;
  counts.bytes = variant.find("alive_bytes")->integer();
  for (const char* const name : {"mm.default", "addmm.default", "bmm.default"}) counts.products += count(operations, name);
  for (const char* const suffix : {".default", "_backward.default"}) {
    counts.attentions += count(operations, std::string(kAttention) + suffix);
  }
  for (const auto& [name, as] : kMeasured) {
    const int more = count(operations, name) - count(*without.find("ops_backward"), name);
    if (more > 0) counts.again[std::string(as)] += more;
  }
  return counts;
}

bool runs_no_more(const Counts& a, const Counts& b) {
  return a.products <= b.products && a.attentions <= b.attentions && std::all_of(a.again.begin(), a.again.end(), [&](const auto& one) {
           const auto there = b.again.find(one.first);
           return there != b.again.end() && one.second <= there->second;
         });
}

}  // namespace reprise::test

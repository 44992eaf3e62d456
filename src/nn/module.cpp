// SPDX-License-Identifier: Apache-2.0
#include "nn/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include "base/elementary_wide.h"
#include "base/error.h"
#include "base/philox.h"

namespace reprise {
namespace {

template <class T>
void write(std::span<std::byte> bytes, std::size_t i, T value) {
  std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
}

void write_as(DType dtype, std::span<std::byte> bytes, std::size_t i, float value) {
  switch (dtype) {
    case DType::float32: return write(bytes, i, value);
    case DType::float64: return write(bytes, i, static_cast<double>(value));
    case DType::bfloat16: return write(bytes, i, to_bfloat16(value));
    default: fail_check("dtype", __FILE__, __LINE__, fmt::format("parameters cannot be {}", dtype_name(dtype)));
  }
}

}  // namespace

void Module::require_free(std::string_view name) const {
  const auto is_named = [&](const auto& entry) { return entry.first == name; };
  const bool taken = std::any_of(node_->parameters.begin(), node_->parameters.end(), is_named) ||
                     std::any_of(node_->children.begin(), node_->children.end(), is_named);
  if (taken) throw UserError(fmt::format("a module registers a name twice; choose another: {}", name));
}

Parameter Module::add_parameter(std::string_view name, Parameter parameter) {
  require_free(name);
  if (parameter.data_->name.empty()) parameter.data_->name = name;
  node_->parameters.emplace_back(name, parameter);
  return parameter;
}

void Module::attach(std::string_view name, const Module& child) {
  require_free(name);
  if (child.node_->name.empty()) child.node_->name = name;
  node_->children.emplace_back(name, child.node_);
}

struct Module::Collected {
  std::vector<std::pair<NamedParameter, Parameter>> found;
  std::unordered_set<const void*> seen;
};

void Module::collect(const Node& node, const std::string& prefix, Collected& collected) {
  for (const auto& [name, parameter] : node.parameters) {
    if (!collected.seen.insert(parameter.identity()).second) continue;
    const auto index = static_cast<std::int64_t>(collected.found.size());
    collected.found.emplace_back(NamedParameter{prefix + name, parameter.shape(), parameter.init(), index, parameter.trained()}, parameter);
  }
  for (const auto& [name, child] : node.children) collect(*child, prefix + name + ".", collected);
}

std::vector<std::pair<NamedParameter, Parameter>> Module::parameter_handles() const {
  Collected collected;
  collect(*node_, "", collected);
  return std::move(collected.found);
}

std::vector<NamedParameter> Module::parameters() const {
  std::vector<NamedParameter> named;
  for (auto& entry : parameter_handles()) named.push_back(std::move(entry.first));
  return named;
}

void initialize(const NamedParameter& parameter, std::uint64_t seed, DType dtype, std::span<std::byte> bytes) {
  const auto count = static_cast<std::size_t>(parameter.shape.numel());
  REPRISE_CHECK(bytes.size() == count * dtype_size(dtype), fmt::format("wrong number of bytes for {}", parameter.name));
  if (parameter.init.kind != Initializer::Kind::normal) {
    const float value = parameter.init.kind == Initializer::Kind::ones ? 1.0f : 0.0f;
    for (std::size_t i = 0; i < count; ++i) write_as(dtype, bytes, i, value);
    return;
  }
  // The upper half of the subsequences belongs to initial values: no draw of a step is among them.
  const std::uint64_t subsequence = (std::uint64_t{1} << 63) | static_cast<std::uint64_t>(parameter.index);
  for (std::size_t i = 0; i < count; i += 4) {
    const PhiloxBlock block = philox_block(seed, i / 4, subsequence);
    const math::NormalPair low = math::normal_pair(block.words[0], block.words[1]);
    const math::NormalPair high = math::normal_pair(block.words[2], block.words[3]);
    const std::array<double, 4> draws = {low.first, low.second, high.first, high.second};
    for (std::size_t j = 0; j < 4 && i + j < count; ++j) {
      write_as(dtype, bytes, i + j, static_cast<float>(draws[j] * parameter.init.std));
    }
  }
}

}  // namespace reprise

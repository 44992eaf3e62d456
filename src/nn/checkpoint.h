// SPDX-License-Identifier: Apache-2.0
// Checkpoint regions in model code: what is computed inside is made again in backward, as far as the policy in force keeps it
// not: that of the step, unless the region has one of its own. Without one it is `full` under recompute `tags`. A region changes no
// bit of any result; recompute `none` ignores it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "ir/region.h"
#include "nn/tracer.h"

namespace reprise {

/// Runs `fn` inside the region `name` and returns what it returns. A policy of its own comes before the step's.
template <class Function>
auto checkpoint(Tracer& tracer, std::string_view name, Function&& fn, RegionPolicy policy = {}) {
  const Tracer::Scope scope = tracer.region(name, std::move(policy));
  return std::forward<Function>(fn)();
}

/// A module that is a checkpoint region whenever it is called, as by checkpoint(); the region is named after the module.
template <class ModuleType>
struct Checkpointed : ModuleType {
  explicit Checkpointed(ModuleType module, RegionPolicy policy_in = {}) : ModuleType(std::move(module)), policy(std::move(policy_in)) {}

  template <class... Arguments>
  auto operator()(const Tensor& x, Arguments&&... arguments) const {
    const std::string& name = this->module_name();
    const Tracer::Scope scope = x.tracer().region(name.empty() ? "checkpoint" : name, policy);
    return ModuleType::operator()(x, std::forward<Arguments>(arguments)...);
  }

  RegionPolicy policy;
};

}  // namespace reprise

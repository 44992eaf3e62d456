// SPDX-License-Identifier: Apache-2.0
// Shared objects that bring user ops: what they export, and how they are loaded.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace reprise {

/// Grows with every change of what a shared object of ops was compiled against: the row of an op and all that it refers to.
inline constexpr int kOpsInterface = 1;

/// Loads a shared object made with REPRISE_OPS, registers its ops, and returns their names. It stays loaded until the process ends.
/// UserError naming the file when it is not there, cannot be loaded, has no entry point, was built for another interface, or brings
/// an op whose name is taken (those before it are then registered).
std::vector<std::string> load_ops(const std::filesystem::path& file);

}  // namespace reprise

/// Stands once in a shared object of ops, before the body of a function that registers them:
///
///   REPRISE_OPS { reprise::register_op("snake", snake_row()); }
#define REPRISE_OPS                                                                                                        \
  extern "C" __attribute__((visibility("default"))) int reprise_ops_interface() { return ::reprise::kOpsInterface; }      \
  extern "C" __attribute__((visibility("default"))) void reprise_register_ops()

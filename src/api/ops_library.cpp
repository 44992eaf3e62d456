// SPDX-License-Identifier: Apache-2.0
#include "api/ops_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <system_error>

#include "base/error.h"
#include "ops/op_table.h"

namespace reprise {
namespace {

template <class Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

}  // namespace

std::vector<std::string> load_ops(const std::filesystem::path& file) {
  const std::string shown = file.string();
  std::error_code error;
  // An absolute path: one without a slash would be searched for elsewhere.
  const std::filesystem::path absolute = std::filesystem::absolute(file, error);
  if (error || !std::filesystem::exists(absolute, error)) throw UserError(fmt::format("there is no such shared object of ops: {}", shown));
  void* const library = ::dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw UserError(fmt::format("a shared object of ops cannot be loaded: {}: {}", shown, ::dlerror()));
  auto* const interface = symbol<int()>(library, "reprise_ops_interface");
  auto* const registrar = symbol<void()>(library, "reprise_register_ops");
  if (interface == nullptr || registrar == nullptr) {
    throw UserError(fmt::format("a shared object of ops has no entry point; define it with REPRISE_OPS: {}", shown));
  }
  if (const int built_for = interface(); built_for != kOpsInterface) {
    throw UserError(fmt::format("a shared object of ops was built for interface {}, this reprise has {}; build it anew: {}", built_for,
                                kOpsInterface, shown));
  }
  std::vector<Opcode> registered;
  try {
    registered = ops_registered_by(registrar);
  } catch (const UserError& refused) {
    throw UserError(fmt::format("{}: {}", shown, refused.what()));
  }
  std::vector<std::string> names;
  for (const Opcode opcode : registered) names.emplace_back(opcode_name(opcode));
  return names;
}

}  // namespace reprise

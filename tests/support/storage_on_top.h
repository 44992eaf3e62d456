// SPDX-License-Identifier: Apache-2.0
// Whether all bytes of an arena can be seen to be written.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "executor/engine.h"

namespace reprise::test {

/// Whether the highest byte of the arena belongs to a value of one of these programs, not to a workspace: a node need not use all
/// of its workspace, a value is written whole.
inline bool storage_on_top(Engine& engine, const std::vector<std::string>& programs) {
  return std::any_of(programs.begin(), programs.end(), [&](const std::string& name) {
    const std::vector<StoragePlan>& storages = engine.program(name).plan().storages;
    return std::any_of(storages.begin(), storages.end(), [&](const StoragePlan& storage) {
      return storage.slot.empty() && storage.offset + storage.bytes == engine.layout().transient_bytes;
    });
  });
}

}  // namespace reprise::test

// SPDX-License-Identifier: Apache-2.0
// What a Function is inside.
#pragma once

#include <cstdint>
#include <memory>

#include "api/session.h"

namespace reprise {

struct FunctionState {
  std::shared_ptr<Session> session;
  ProgramHandle program;
  std::int64_t words = 0;  // that one run draws
  std::int64_t draws = 0;  // words drawn so far
};

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Training: compile_step, Step, and their options.
#pragma once

#include "api/step.h"

// SPDX-License-Identifier: Apache-2.0
// Programs without backward: compile_function, Function, and parameters by name.
#pragma once

#include "api/function.h"
#include "api/parameters.h"

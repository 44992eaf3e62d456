// SPDX-License-Identifier: Apache-2.0
// Tolerances of tests: those of every check of numbers.
#pragma once

#include "base/tolerance.h"

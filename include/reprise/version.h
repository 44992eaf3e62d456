// SPDX-License-Identifier: Apache-2.0
// The library's version.
#pragma once

#include "api/version.h"

// SPDX-License-Identifier: Apache-2.0
// The kinds of error: UserError, InternalError, DeviceError.
#pragma once

#include "base/error.h"

// SPDX-License-Identifier: Apache-2.0
// Where the library's messages go: set_log_callback.
#pragma once

#include "base/log.h"

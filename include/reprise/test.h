// SPDX-License-Identifier: Apache-2.0
// For the tests of one's own ops: check_op.
#pragma once

#include "api/check_op.h"

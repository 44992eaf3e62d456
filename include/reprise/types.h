// SPDX-License-Identifier: Apache-2.0
// Element types, shapes, tensor types.
#pragma once

#include "base/dtype.h"
#include "ir/shape.h"

// SPDX-License-Identifier: Apache-2.0
// Everything but the checks of reprise/test.h.
#pragma once

#include "reprise/error.h"
#include "reprise/function.h"
#include "reprise/log.h"
#include "reprise/module.h"
#include "reprise/op.h"
#include "reprise/step.h"
#include "reprise/trace.h"
#include "reprise/types.h"
#include "reprise/version.h"

// SPDX-License-Identifier: Apache-2.0
// Traces and their text form.
#pragma once

#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/trace.h"

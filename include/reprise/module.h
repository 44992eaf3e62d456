// SPDX-License-Identifier: Apache-2.0
// Models: modules that register parameters and children, tensors, the tracer that records them, and ready-made layers.
#pragma once

#include "nn/layers.h"
#include "nn/module.h"
#include "nn/tensor.h"
#include "nn/tracer.h"

// SPDX-License-Identifier: Apache-2.0
// Models: modules that register parameters and children, tensors, the tracer that records them, ready-made layers, and checkpoint
// regions.
#pragma once

#include "nn/checkpoint.h"
#include "nn/layers.h"
#include "nn/module.h"
#include "nn/tensor.h"
#include "nn/tracer.h"

// SPDX-License-Identifier: Apache-2.0
// Pieces shared by the family files of pointwise ops, reductions and ordering: more checks of input types, costs
// counted by element, and samples.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "ops/row.h"
#include "ops/type_check.h"

namespace reprise {

using TensorTypes = std::vector<TensorType>;
using TypeSpan = std::span<const TensorType>;

/// One dtype and one device.
void require_one_dtype(const Node& node, TypeSpan inputs);
/// Input i is float32, float64 or bfloat16: float16 is only read, cast and written.
void require_real(const Node& node, TypeSpan inputs, std::size_t i = 0);
/// Input i is as above or an integer.
void require_number(const Node& node, TypeSpan inputs, std::size_t i = 0);
void require_bool(const Node& node, TypeSpan inputs, std::size_t i = 0);
/// Input i is a scalar (shape []) of this dtype.
void require_scalar(const Node& node, TypeSpan inputs, std::size_t i, DType dtype);
/// Passes `outputs` on; an in-place node's output 0 must have the type of its input 0.
TensorTypes checked_in_place(const Node& node, TypeSpan inputs, TensorTypes outputs);
/// Numpy-style broadcast of all inputs.
Shape broadcast_inputs(const Node& node, TypeSpan inputs);
/// `dim` of input 0 counted from 0; a scalar has the dimensions 0 and -1.
std::size_t scan_dim(const Node& node, TypeSpan inputs, std::int64_t dim);

using CostFunction = std::function<Cost(const Node&, TypeSpan, TypeSpan)>;
/// `flops` per element of output 0; of input 0. Inputs are read and outputs written once.
CostFunction cost_per_output(double flops);
CostFunction cost_per_input(double flops);

/// Inputs of samples: float32 filled from [low, high] (checks that need float64 widen it); int64 from [low, high]; bool.
SampleInput real_input(const Shape& shape, double low = -2, double high = 2);
SampleInput integer_input(const Shape& shape, std::int64_t low, std::int64_t high);
SampleInput bool_input(const Shape& shape);
OpSample op_sample(std::string name, std::vector<SampleInput> inputs, Attrs attrs = NoAttrs{}, bool differentiable = true);

}  // namespace reprise

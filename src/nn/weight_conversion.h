// SPDX-License-Identifier: Apache-2.0
// Elements of one floating type to another, as weights are read from and written to files.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/dtype.h"

namespace reprise {

/// Converts all elements of `from` into `to`, which holds as many: to nearest even, gradual underflow, overflow to infinity.
/// float64 goes to the 16-bit types by way of float32. Neither needs any alignment. InternalError for types that are not floating.
void convert_elements(DType from_dtype, std::span<const std::byte> from, DType to_dtype, std::span<std::byte> to);

/// The place of the first element that is NaN or infinite, or nothing.
std::optional<std::size_t> first_not_finite(DType dtype, std::span<const std::byte> elements);

/// One element, widened.
double element_value(DType dtype, const std::byte* element);

}  // namespace reprise

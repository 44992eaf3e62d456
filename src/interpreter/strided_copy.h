// SPDX-License-Identifier: Apache-2.0
// Copies between a dense array and the same elements spread over a storage by a layout.
#pragma once

#include <cstddef>

#include "ir/shape.h"
#include "ops/row.h"

namespace reprise {

/// Whether the elements lie one after the other in row-major order (from any offset).
bool is_dense(const Shape& shape, const Layout& layout);
/// Whether two elements may lie in one place. Windows that interleave without meeting are taken to overlap.
bool may_overlap(const Shape& shape, const Layout& layout);
/// dense[i] = storage[layout(i)]; `size`: bytes of an element.
void gather_strided(const Shape& shape, const Layout& layout, std::size_t size, const std::byte* storage, std::byte* dense);
/// storage[layout(i)] = dense[i], i ascending: of elements that lie in one place the last stays.
void scatter_strided(const Shape& shape, const Layout& layout, std::size_t size, const std::byte* dense, std::byte* storage);

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Counts the allocations of this test program.
#pragma once

namespace reprise::test {

/// Returns how many times operator new was called so far, by all threads.
long allocation_count();
/// Of these, how many were not freed yet.
long live_allocation_count();

}  // namespace reprise::test

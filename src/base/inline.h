// SPDX-License-Identifier: Apache-2.0
// The macro for arithmetic that is compiled several times, once per instruction set.
#pragma once

/// Inlined at every call, also without optimisation: no out-of-line copy exists that the linker could take from a file
/// compiled for AVX-512 and give to one that must run without it.
#define REPRISE_INLINE [[gnu::always_inline]] inline

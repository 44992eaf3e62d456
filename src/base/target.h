// SPDX-License-Identifier: Apache-2.0
// What the machine offers: instruction set, caches, cores and memory this process may use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reprise {

/// x86-64 levels kernels are compiled for: v2 is the baseline of the binary, v3 adds AVX2, FMA and F16C, v4 AVX-512 (F, BW, DQ, VL).
enum class IsaLevel : std::uint8_t { v2, v3, v4 };

std::string_view isa_name(IsaLevel level);

/// The best level this CPU has. REPRISE_ISA=v2|v3|v4 lowers it; UserError for any other value or one the CPU lacks.
IsaLevel detect_isa();

struct Target {
  IsaLevel isa = IsaLevel::v2;
  bool has_avx512_bf16 = false;
  std::size_t l1_bytes = 32 * 1024;         // data, per core
  std::size_t l2_bytes = 512 * 1024;        // per core
  std::size_t l3_bytes = 8 * 1024 * 1024;   // shared
  int cores = 1;                            // by affinity and cgroup quota
};

/// Describes the machine this process runs on.
Target detect_target();

/// Bytes that can still be allocated: the smaller of the kernel's MemAvailable and what the cgroups leave (limit - usage, v1 and v2,
/// ancestors included).
std::uint64_t available_memory_bytes();

/// The same from a file tree that looks like / (for tests). Files that are missing or say "max" limit nothing.
std::uint64_t available_memory_bytes(const std::string& root);
/// Cores the CPU quotas of the cgroups under `root` leave, rounded up; 0: no limit.
int cgroup_cores(const std::string& root);

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
#include "base/target.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

TEST(Target, MemoryIsTheKernelsWithoutCgroups) {
  const test::TemporaryDirectory root;  // a tree shaped like / for the cgroup readers
  root.put("proc/meminfo", "MemTotal:       1000 kB\nMemAvailable:    600 kB\n");
  EXPECT_EQ(available_memory_bytes(root.path()), 600u * 1024);
  EXPECT_EQ(cgroup_cores(root.path()), 0);
}

TEST(Target, CgroupVersion2LimitsMemoryAndCores) {
  const test::TemporaryDirectory root;
  root.put("proc/meminfo", "MemAvailable: 600 kB\n");
  root.put("proc/self/cgroup", "0::/a/b\n");
  root.put("sys/fs/cgroup/a/b/memory.max", "max\n");
  root.put("sys/fs/cgroup/a/b/memory.current", "1000\n");
  root.put("sys/fs/cgroup/a/memory.max", "300000\n");
  root.put("sys/fs/cgroup/a/memory.current", "100000\n");
  root.put("sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 50000\n");
  root.put("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
  root.put("sys/fs/cgroup/a/cpu.max", "max 100000\n");
  EXPECT_EQ(available_memory_bytes(root.path()), 250000u);
  EXPECT_EQ(cgroup_cores(root.path()), 2);
}

TEST(Target, CgroupVersion1AtTheMountPointLimits) {
  const test::TemporaryDirectory root;
  root.put("proc/meminfo", "MemAvailable: 600 kB\n");
  root.put("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/not/mounted/here\n");
  root.put("sys/fs/cgroup/memory/memory.limit_in_bytes", "200000\n");
  root.put("sys/fs/cgroup/memory/memory.usage_in_bytes", "250000\n");
  root.put("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n");
  root.put("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(available_memory_bytes(root.path()), 0u);
  EXPECT_EQ(cgroup_cores(root.path()), 0);
}

TEST(Target, DescribesThisMachine) {
  const Target target = detect_target();
  EXPECT_GE(target.cores, 1);
  EXPECT_GE(target.l1_bytes, 8u * 1024);
  EXPECT_GT(available_memory_bytes(), 0u);
}

TEST(Target, IsaCanOnlyBeLowered) {
  const char* before = std::getenv("REPRISE_ISA");
  const std::string kept = before ? before : "";
  setenv("REPRISE_ISA", "v2", 1);
  EXPECT_EQ(detect_isa(), IsaLevel::v2);
  EXPECT_FALSE(detect_target().has_avx512_bf16);
  setenv("REPRISE_ISA", "v9", 1);
  try {
    detect_isa();
    FAIL() << "accepted v9";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("REPRISE_ISA must be v2, v3 or v4: v9"), std::string::npos);
  }
  if (!__builtin_cpu_supports("avx512f")) {
    setenv("REPRISE_ISA", "v4", 1);
    try {
      detect_isa();
      FAIL() << "accepted v4";
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("an instruction set this CPU does not have"), std::string::npos);
    }
  }
  before ? setenv("REPRISE_ISA", kept.c_str(), 1) : unsetenv("REPRISE_ISA");
}

}  // namespace
}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
#include "base/target.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <sstream>
#include <thread>

#include "base/error.h"

namespace reprise {
namespace {

IsaLevel cpu_isa() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return IsaLevel::v2;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  return avx512 ? IsaLevel::v4 : IsaLevel::v3;
}

std::optional<std::uint64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (!(file >> value)) return std::nullopt;  // missing, or "max"
  return value;
}

/// A field of a file of "name value" lines.
std::optional<std::uint64_t> read_field(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  std::string key;
  std::uint64_t value = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    if (words >> key >> value && key == name) return value;
  }
  return std::nullopt;
}

/// Calls visit(folder) for the cgroup folders of this process under `root`: controller "" is version 2. Inside a container the path that
/// /proc/self/cgroup gives may not be mounted, so every ancestor is tried, the mount point last.
void for_each_cgroup(const std::string& root, const std::string& controller, const std::function<void(const std::string&)>& visit) {
  const std::string mount = root + "/sys/fs/cgroup" + (controller.empty() ? "" : "/" + controller);
  std::ifstream file(root + "/proc/self/cgroup");
  std::string path;
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::istringstream names(line.substr(first + 1, second - first - 1));
    bool matches = controller.empty() && second == first + 1;
    for (std::string name; std::getline(names, name, ',');) matches = matches || (!controller.empty() && name == controller);
    if (matches) path = line.substr(second + 1);
  }
  while (!path.empty() && path != "/") {
    visit(mount + path);
    path.erase(path.rfind('/'));
  }
  visit(mount);
}

/// Size of the data or unified cache of `level` as the kernel lists it: what the processor says of itself counts cores that a
/// virtual machine does not have. `otherwise` where there is no list.
std::size_t cache_bytes(int level, std::size_t otherwise) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    std::ifstream level_file(folder + "/level");
    std::ifstream type_file(folder + "/type");
    std::ifstream size_file(folder + "/size");
    int found = 0;
    std::string type;
    std::size_t kibibytes = 0;
    if (!(level_file >> found) || !(type_file >> type) || !(size_file >> kibibytes)) continue;
    if (found == level && type != "Instruction") return kibibytes * 1024;
  }
  return otherwise;
}

}  // namespace

std::string_view isa_name(IsaLevel level) {
  switch (level) {
    case IsaLevel::v2: return "v2";
    case IsaLevel::v3: return "v3";
    case IsaLevel::v4: return "v4";
  }
  return "";
}

IsaLevel detect_isa() {
  const IsaLevel best = cpu_isa();
  const char* wanted = std::getenv("REPRISE_ISA");
  if (wanted == nullptr || *wanted == '\0') return best;
  for (const IsaLevel level : {IsaLevel::v2, IsaLevel::v3, IsaLevel::v4}) {
    if (isa_name(level) != wanted) continue;
    if (level > best) {
      throw UserError("REPRISE_ISA asks for an instruction set this CPU does not have; lower or unset it: " + std::string(wanted) + " > " +
                      std::string(isa_name(best)));
    }
    return level;
  }
  throw UserError("REPRISE_ISA must be v2, v3 or v4: " + std::string(wanted));
}

Target detect_target() {
  Target target;
  target.isa = detect_isa();
  target.has_avx512_bf16 = target.isa == IsaLevel::v4 && __builtin_cpu_supports("avx512bf16");
  target.l1_bytes = cache_bytes(1, target.l1_bytes);
  target.l2_bytes = cache_bytes(2, target.l2_bytes);
  target.l3_bytes = cache_bytes(3, target.l3_bytes);
  cpu_set_t affinity;
  CPU_ZERO(&affinity);
  target.cores = sched_getaffinity(0, sizeof(affinity), &affinity) == 0 ? CPU_COUNT(&affinity)
                                                                         : static_cast<int>(std::thread::hardware_concurrency());
  if (const int quota = cgroup_cores(""); quota > 0) target.cores = std::min(target.cores, quota);
  target.cores = std::max(target.cores, 1);
  return target;
}

int cgroup_cores(const std::string& root) {
  double cores = std::numeric_limits<double>::infinity();
  for_each_cgroup(root, "", [&](const std::string& folder) {
    std::ifstream file(folder + "/cpu.max");
    double quota = 0.0;
    double period = 0.0;
    if (file >> quota >> period && period > 0.0) cores = std::min(cores, quota / period);
  });
  for_each_cgroup(root, "cpu", [&](const std::string& folder) {
    const auto quota = read_number(folder + "/cpu.cfs_quota_us");
    const auto period = read_number(folder + "/cpu.cfs_period_us");
    if (quota && period && *period > 0 && *quota < std::numeric_limits<std::uint64_t>::max() / 2) {  // -1: none
      cores = std::min(cores, static_cast<double>(*quota) / static_cast<double>(*period));
    }
  });
  if (cores == std::numeric_limits<double>::infinity()) return 0;
  return std::max(1, static_cast<int>(__builtin_ceil(cores)));
}

std::uint64_t available_memory_bytes(const std::string& root) {
  std::uint64_t available = std::numeric_limits<std::uint64_t>::max();
  if (const auto kib = read_field(root + "/proc/meminfo", "MemAvailable:")) available = *kib * 1024;
  const auto limit_by = [&](const std::string& folder, const char* limit_file, const char* usage_file, const char* cache_field) {
    const auto limit = read_number(folder + limit_file);
    const auto usage = read_number(folder + usage_file);
    if (!limit || !usage) return;
    const std::uint64_t reclaimable = std::min(*usage, read_field(folder + "/memory.stat", cache_field).value_or(0));
    const std::uint64_t used = *usage - reclaimable;
    available = std::min(available, *limit > used ? *limit - used : 0);
  };
  for_each_cgroup(root, "", [&](const std::string& folder) { limit_by(folder, "/memory.max", "/memory.current", "inactive_file"); });
  for_each_cgroup(root, "memory", [&](const std::string& folder) {
    limit_by(folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file");
  });
  return available;
}

std::uint64_t available_memory_bytes() { return available_memory_bytes(""); }

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// `reprise info`: what this program is made of and what machine it finds.
#include <dnnl.h>
#include <nlohmann/json.hpp>
#include <toml++/toml.h>
#include <xxhash.h>

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/execution.h"
#include "cli/standard_streams.h"
#include "cli/units.h"
#include "executor/executor_list.h"
#include "io/file_write.h"
#include "io/json.h"
#include "reprise/version.h"

namespace reprise {
namespace {

/// Name and version, from the headers this program was built with; oneDNN as it is loaded.
std::vector<std::pair<std::string, std::string>> libraries() {
  const dnnl_version_t* dnnl = dnnl_version();
  return {{"oneDNN", fmt::format("{}.{}.{}", dnnl->major, dnnl->minor, dnnl->patch)},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
          {"nlohmann-json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
          {"toml++", fmt::format("{}.{}.{}", TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH)},
          {"xxHash", fmt::format("{}.{}.{}", XXH_VERSION_MAJOR, XXH_VERSION_MINOR, XXH_VERSION_RELEASE)}};
}

}  // namespace

int run_info(const ResolvedOptions& options) {
  const Target target = detect_target();
  const auto available = static_cast<std::int64_t>(available_memory_bytes());
  if (!options.has("json") || options.get_text("json") != "-") {
    std::string table;
    const auto row = [&table](std::string_view name, const std::string& text) { table += fmt::format("{:<12}{}\n", name, text); };
    row("version", std::string(version()));
    row("processor", fmt::format("{} threads, {} (x86-64-{}){}", target.cores, isa_title(target.isa), isa_name(target.isa),
                                 target.has_avx512_bf16 ? ", bfloat16 products" : ""));
    row("caches", fmt::format("L1 {} KiB, L2 {} KiB, L3 {} KiB", target.l1_bytes / 1024, target.l2_bytes / 1024, target.l3_bytes / 1024));
    row("memory", format_bytes(available) + " available");
    row("executors", fmt::format("{}", fmt::join(executor_names(), ", ")));
    std::vector<std::string> shown;
    for (const auto& [name, version] : libraries()) shown.push_back(name + " " + version);
    row("libraries", fmt::format("{}", fmt::join(shown, ", ")));
    print_output(table);
  }
  if (!options.has("json")) return 0;
  Json executors = Json::array();
  for (const std::string_view name : executor_names()) executors.push_back(name);
  Json versions = Json::object();
  for (const auto& [name, version] : libraries()) versions.set(name, version);
  const Json json = Json::object({{"schema_version", 1},
                                  {"version", version()},
                                  {"threads", target.cores},
                                  {"isa", isa_name(target.isa)},
                                  {"avx512_bf16", target.has_avx512_bf16},
                                  {"l1_bytes", static_cast<std::int64_t>(target.l1_bytes)},
                                  {"l2_bytes", static_cast<std::int64_t>(target.l2_bytes)},
                                  {"l3_bytes", static_cast<std::int64_t>(target.l3_bytes)},
                                  {"memory_available_bytes", available},
                                  {"executors", std::move(executors)},
                                  {"libraries", std::move(versions)}});
  write_text_file(options.get_text("json"), write_json(json, 2) + "\n");
  return 0;
}

}  // namespace reprise

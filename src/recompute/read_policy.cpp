// SPDX-License-Identifier: Apache-2.0
#include "recompute/read_policy.h"

#include <utility>

#include "io/file_write.h"

namespace reprise {

RecomputeOptions read_recompute_options(std::string_view policy, std::optional<std::string> file_text) {
  RecomputeOptions options;
  options.policy = parse_policy(policy);
  const std::string& path = options.policy.path;
  if (path.empty()) return options;
  if (!file_text) file_text = read_text_file(path);
  if (options.policy.kind == PolicySpec::Kind::ops) {
    options.save_list = parse_save_list(*file_text, path);
    options.save_list_name = path;
  } else {
    options.plan_text = std::move(*file_text);
  }
  return options;
}

}  // namespace reprise

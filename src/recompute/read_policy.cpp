// SPDX-License-Identifier: Apache-2.0
#include "recompute/read_policy.h"

#include "io/file_write.h"

namespace reprise {

RecomputeOptions read_recompute_options(std::string_view policy) {
  RecomputeOptions options;
  options.policy = parse_policy(policy);
  const std::string& path = options.policy.path;
  if (options.policy.kind == PolicySpec::Kind::ops && !path.empty()) {
    options.save_list = parse_save_list(read_text_file(path), path);
    options.save_list_name = path;
  }
  if (options.policy.kind == PolicySpec::Kind::file) options.plan_text = read_text_file(path);
  return options;
}

}  // namespace reprise

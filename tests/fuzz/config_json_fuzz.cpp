// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either a config.json that, written in the keys of its family, reads back as the same model, or a
// UserError. Built with -fsanitize=fuzzer it is a libFuzzer program; the unit tests replay a corpus made in code through it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "nn/gpt_config_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const reprise::FolderConfig read = reprise::config_from_json(reprise::parse_json(text, "input"), "input");
    const reprise::ConfigFile written = reprise::config_to_json(read.config, read.family);
    const reprise::FolderConfig back = reprise::config_from_json(written.json, "written");
    if (back.family != written.family) std::abort();
    const reprise::ConfigFile again = reprise::config_to_json(back.config, back.family);
    if (!(reprise::config_from_json(again.json, "again").config == back.config)) std::abort();
    if (read.config.rope_condense_ratio == 1 && !(back.config == read.config)) std::abort();
  } catch (const reprise::UserError&) {
  }
  return 0;
}

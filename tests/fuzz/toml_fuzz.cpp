// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text is either a configuration, whose values are written and read back equal, or a UserError.
// Built with -fsanitize=fuzzer it is a libFuzzer program; the unit tests replay a corpus made in code through it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/toml.h"

namespace {

/// NaN is read back too, but equals nothing.
bool same(const reprise::TomlValue& a, const reprise::TomlValue& b) { return reprise::write_toml_value(a) == reprise::write_toml_value(b); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<reprise::TomlEntry> entries;
  try {
    entries = reprise::parse_toml(text, "input");
  } catch (const reprise::UserError&) {
    return 0;
  }
  for (const reprise::TomlEntry& entry : entries) {
    const auto again = reprise::parse_toml("k = " + reprise::write_toml_value(entry.value) + "\n", "written");
    if (again.size() != 1 || !same(again[0].value, entry.value)) std::abort();
    if (entry.line < 1) std::abort();
  }
  return 0;
}

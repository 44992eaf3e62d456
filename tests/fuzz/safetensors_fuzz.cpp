// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either a valid safetensors file, all of whose tensor bytes can be touched, or a UserError.
// Built with -fsanitize=fuzzer it is a libFuzzer program; the unit tests replay a corpus made in code through it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/error.h"
#include "io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  try {
    reprise::SafetensorsMetadata metadata;
    std::size_t covered = 0;
    unsigned sum = 0;
    for (const reprise::SafetensorsTensor& tensor : reprise::parse_safetensors(file, "input", metadata)) {
      for (const std::byte byte : tensor.bytes) sum += std::to_integer<unsigned>(byte);
      covered += tensor.bytes.size();
    }
    if (covered > size || sum > 255 * size) std::abort();
  } catch (const reprise::UserError&) {
  }
  return 0;
}

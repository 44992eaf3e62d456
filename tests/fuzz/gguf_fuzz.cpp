// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either a valid GGUF file, whose metadata can be read and whose tensors' bytes can be touched and
// decoded, or a UserError. Built with -fsanitize=fuzzer it is a libFuzzer program; the unit tests replay a corpus made in code
// through it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "base/error.h"
#include "io/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  try {
    const reprise::GgufContent content = reprise::parse_gguf(file, "input");
    for (const reprise::GgufValue& value : content.metadata) reprise::to_json(value);
    std::size_t covered = 0;
    for (const reprise::GgufTensor& tensor : content.tensors) {
      covered += tensor.bytes.size();
      if (tensor.type->decode == nullptr) continue;
      const auto bytes = static_cast<std::size_t>(tensor.type->block_bytes);
      std::vector<float> values(tensor.bytes.size() / bytes * static_cast<std::size_t>(tensor.type->block_elements));
      reprise::decode_ggml(*tensor.type, tensor.bytes, values);
    }
    if (covered > size) std::abort();
  } catch (const reprise::UserError&) {
  }
  return 0;
}

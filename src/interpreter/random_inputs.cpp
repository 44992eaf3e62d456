// SPDX-License-Identifier: Apache-2.0
#include "interpreter/random_inputs.h"

#include "base/philox.h"

namespace reprise {
namespace {

std::uint64_t hash_name(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

std::vector<HostTensor> random_inputs(const Trace& trace, std::uint64_t seed, std::int64_t integers) {
  std::vector<HostTensor> result;
  for (const TraceInput& input : trace.inputs) {
    const Value& value = trace[input.value];
    const std::uint64_t stream = hash_name(value.name);
    std::vector<double> numbers(static_cast<std::size_t>(value.type.shape.numel()));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::uint32_t word = philox_word(seed, i, stream);
      if (!is_floating(value.type.dtype)) {
        const std::int64_t limit = value.type.dtype == DType::boolean ? 2 : integers;
        const std::int64_t low = input.role == Role::scalar && value.type.dtype != DType::boolean ? 1 : 0;
        numbers[i] = static_cast<double>(static_cast<std::int64_t>(word % static_cast<std::uint64_t>(limit)) + low);
      } else if (input.role == Role::scalar) {
        numbers[i] = uniform_double(word);
      } else {
        numbers[i] = 2 * uniform_double(word) - 1;
      }
    }
    result.push_back(HostTensor::from_numbers(value.type, numbers));
  }
  return result;
}

}  // namespace reprise

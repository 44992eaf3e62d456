// SPDX-License-Identifier: Apache-2.0
// Where the reference data lies (made with PyTorch, LitGPT, transformers; see its README.md), and its tensors.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "interpreter/host_tensor.h"
#include "io/safetensors.h"
#include "support/source_directory.h"

namespace reprise::test {

/// The folder REPRISE_REFERENCE_DIR names, else the one beside the sources.
inline std::filesystem::path reference_folder() {
  const char* given = std::getenv("REPRISE_REFERENCE_DIR");
  return given ? given : (test::source_directory() / "../shared/data/reference").string();
}

/// The tensor as it is stored (U8 as bool).
inline HostTensor to_host_tensor(const SafetensorsTensor& tensor) {
  return {TensorType{tensor.dtype, Shape(tensor.shape), Device::cpu}, tensor.bytes.data()};
}

/// `tensor` converted to `dtype`.
inline HostTensor converted(const HostTensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  return HostTensor::from_numbers(TensorType{dtype, tensor.shape(), Device::cpu}, tensor.numbers());
}

}  // namespace reprise::test

/// Skips the running test when FILE (a path inside the reference folder) is not there.
#define REPRISE_NEEDS_REFERENCE(FILE)                                                          \
  do {                                                                                         \
    const auto wanted = ::reprise::test::reference_folder() / (FILE);                          \
    if (!std::filesystem::exists(wanted)) GTEST_SKIP() << "no reference data at " << wanted;   \
  } while (false)

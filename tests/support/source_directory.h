// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace reprise::test {

/// The top of the source tree, where the documents and the tests' own data lie.
std::filesystem::path source_directory();

}  // namespace reprise::test

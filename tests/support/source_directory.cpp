// SPDX-License-Identifier: Apache-2.0
// The one file of the tests that is compiled with a path in it: the others are the same in every place.
#include "support/source_directory.h"

namespace reprise::test {

std::filesystem::path source_directory() { return REPRISE_SOURCE_DIR; }

}  // namespace reprise::test

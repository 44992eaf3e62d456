// SPDX-License-Identifier: Apache-2.0
#include "api/version.h"

namespace reprise {

std::string_view version() { return REPRISE_VERSION; }

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Amounts as people read them: "22.1 GB", "10.7 M", "1,024".
#pragma once

#include <cstdint>
#include <string>

namespace reprise {

/// Returns bytes in powers of 1000, three digits: "512 B", "1.1 MB", "0.41 GB" (from 100 MB on in GB), "22.1 GB".
std::string format_bytes(std::int64_t bytes);
/// Returns a count in powers of 1000: "65", "1.00 M", "10.7 M", "7.06 B".
std::string format_count(std::int64_t count);

}  // namespace reprise

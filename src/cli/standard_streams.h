// SPDX-License-Identifier: Apache-2.0
// Standard input, output and error as a careless caller leaves them: closed, full, or with nobody reading; and files that may not grow.
#pragma once

#include <string_view>

namespace reprise {

/// Puts /dev/null in the place of standard streams that are closed; otherwise the next file opened would take the place, and
/// progress would be written into it. Call it before any file is opened.
void open_standard_streams();

/// Makes a write over the limit of file sizes (ulimit -f) an error like others; otherwise it ends the process without a word.
void take_file_limit_as_error();

/// Writes to standard error; that it cannot be written changes nothing else.
void print_error(std::string_view text);

/// Whether everything printed to standard output so far has reached it.
bool output_is_written();

}  // namespace reprise

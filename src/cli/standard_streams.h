// SPDX-License-Identifier: Apache-2.0
// Standard input, output and error as a careless caller leaves them: closed, full, or with nobody reading; and files that may not grow.
#pragma once

#include <string_view>

namespace reprise {

/// Puts /dev/null in the place of standard streams that are closed; otherwise the next file opened would take the place, and
/// progress would be written into it. A closed output still refuses what is written to it. Call it before any file is opened.
void open_standard_streams();

/// Makes a write over the limit of file sizes (ulimit -f) an error like others; otherwise it ends the process without a word.
void take_file_limit_as_error();

/// Writes to standard error; that it cannot be written changes nothing else.
void print_error(std::string_view text);

/// Writes a command's result to standard output, at once. UserError when it cannot be written, or is closed.
void print_output(std::string_view text);

/// Writes to standard output a word on results that are kept elsewhere: as `print_output`, but nobody need listen.
void print_note(std::string_view text);

}  // namespace reprise

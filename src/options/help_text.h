// SPDX-License-Identifier: Apache-2.0
// Texts for people, all made from the option table: help on the terminal, docs/cli.md and the man page.
#pragma once

#include <string>
#include <string_view>

#include "options/option.h"

namespace reprise {

/// The text of `reprise --help`.
std::string general_help_text();
/// The text of `reprise COMMAND --help`.
std::string command_help_text(Command command);
/// The content of docs/cli.md.
std::string reference_markdown();
/// The man page reprise(1), as roff.
std::string man_page_text(std::string_view version);

}  // namespace reprise

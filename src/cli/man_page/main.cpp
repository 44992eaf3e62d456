// SPDX-License-Identifier: Apache-2.0
// Prints the man page of the program; run while it is built.
#include <fmt/format.h>

#include "options/help_text.h"
#include "reprise/version.h"

int main() { fmt::print("{}", reprise::man_page_text(reprise::version())); }

// SPDX-License-Identifier: Apache-2.0
// Options of the commands that print and run traces.
#include <array>

#include "options/option_rows.h"

namespace reprise {
namespace {

using enum OptionKind;
using enum OptionGroup;

constexpr std::array kRows{
    OptionRow{.name = "file", .kind = path, .group = data, .commands = kRunTrace, .placeholder = "FILE",
              .help = "a trace as printed by reprise trace or --dump; - is standard input"},
    OptionRow{.name = "ops", .kind = list, .group = data, .commands = kRunTrace, .placeholder = "FILE.so,...",
              .help = "shared objects that bring the ops of one's own that the trace uses"},
    OptionRow{.name = "stage", .kind = choice, .group = output, .commands = kTrace, .default_text = "step",
              .choices = "forward|joint|step|claimed|recomputed|scheduled",
              .help = "how far to compile: the model, with its backward, with the optimizer, with executors chosen, "
                      "with what backward makes again, in the order it runs"},
    OptionRow{.name = "out", .kind = path, .group = output, .commands = kTrace, .default_text = "-", .placeholder = "FILE",
              .help = "where to write the trace; - is standard output"},
};

}  // namespace

std::span<const OptionRow> trace_option_rows() { return kRows; }

}  // namespace reprise

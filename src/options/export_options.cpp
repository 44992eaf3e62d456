// SPDX-License-Identifier: Apache-2.0
// Options of `reprise export`.
#include <array>

#include "options/option_rows.h"

namespace reprise {
namespace {

using enum OptionKind;
using enum OptionGroup;

constexpr std::array kRows{
    OptionRow{.name = "model", .kind = text, .group = model, .commands = kExport, .placeholder = "RUN", .aliases = "model_name",
              .help = "a run folder, one of its checkpoints (RUN/step-N), or a Hugging Face folder"},
    OptionRow{.name = "out", .kind = path, .group = output, .commands = kExport, .placeholder = "DIR", .help = "the folder to write"},
    OptionRow{.name = "overwrite", .kind = flag, .group = output, .commands = kExport, .default_text = "False", .command_line_only = true,
              .help = "replace a model folder that is there"},
    OptionRow{.name = "dtype", .kind = choice, .group = numerics, .commands = kExport, .choices = "float32|bfloat16|float16",
              .help = "type of the weights in the files; without it, that of the folder they came from, else that of the run"},
    OptionRow{.name = "max_shard_size", .kind = size, .group = output, .commands = kExport, .minimum = 1,
              .help = "write several files of at most this size and an index; without it, as in the folder they came from, else one file"},
};

}  // namespace

std::span<const OptionRow> export_option_rows() { return kRows; }

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Options of `reprise eval`.
#include <array>

#include "options/option_rows.h"

namespace reprise {
namespace {

using enum OptionKind;
using enum OptionGroup;

constexpr std::array kRows{
    OptionRow{.name = "tokenizer", .kind = text, .group = data, .commands = kEval, .placeholder = "FILE",
              .help = "a tokenizer.json; by default the model folder's own"},
    OptionRow{.name = "stride", .kind = integer, .group = measurement, .commands = kEval, .minimum = 1,
              .help = "tokens from one window's start to the next one's; below block_size, windows overlap and later tokens have more "
                      "context; block_size by default"},
    OptionRow{.name = "micro_batch_size", .kind = integer, .group = measurement, .commands = kEval, .minimum = 1, .maximum = 1e8,
              .help = "rows computed at once; by default as many as hold 2048 tokens"},
    OptionRow{.name = "per_document", .kind = path, .group = measurement, .commands = kEval, .placeholder = "FILE",
              .command_line_only = true,
              .help = "write a JSON line for every document; - is standard output"},
    OptionRow{.name = "dtype", .kind = choice, .group = numerics, .commands = kEval, .default_text = "float32",
              .choices = "float32|bfloat16|float64",
              .help = "type of parameters and activations"},
};

}  // namespace

std::span<const OptionRow> eval_option_rows() { return kRows; }

}  // namespace reprise

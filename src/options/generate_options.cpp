// SPDX-License-Identifier: Apache-2.0
// Options of `reprise generate`.
#include <array>

#include "options/option_rows.h"

namespace reprise {
namespace {

using enum OptionKind;
using enum OptionGroup;

constexpr std::array kRows{
    OptionRow{.name = "prompt", .kind = text, .group = sampling, .commands = kGenerate,
              .help = "text to continue; without it the model starts from a line break"},
    OptionRow{.name = "max_new_tokens", .kind = integer, .group = sampling, .commands = kGenerate, .default_text = "256", .minimum = 1,
              .maximum = 1e9,
              .help = "tokens to write"},
    OptionRow{.name = "temperature", .kind = number, .group = sampling, .commands = kGenerate, .default_text = "0.8", .minimum = 0,
              .help = "divides the logits; 0 always takes the likeliest token"},
    OptionRow{.name = "top_k", .kind = integer, .group = sampling, .commands = kGenerate, .default_text = "0", .minimum = 0,
              .help = "draw among the k likeliest tokens only; 0 is all"},
    OptionRow{.name = "top_p", .kind = number, .group = sampling, .commands = kGenerate, .default_text = "1", .minimum = 0, .maximum = 1,
              .minimum_excluded = true, .help = "draw among the fewest likeliest tokens whose probabilities reach p"},
    OptionRow{.name = "stream", .kind = flag, .group = sampling, .commands = kGenerate, .default_text = "True",
              .help = "print text as it is written"},
};

}  // namespace

std::span<const OptionRow> generate_option_rows() { return kRows; }

}  // namespace reprise

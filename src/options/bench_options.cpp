// SPDX-License-Identifier: Apache-2.0
// Options of `reprise bench`; names and defaults are those of the field's training benchmark.
#include <array>

#include "options/option_rows.h"

namespace reprise {
namespace {

using enum OptionKind;
using enum OptionGroup;

constexpr std::array kRows{
    OptionRow{.name = "micro_batch_size", .kind = integer, .group = measurement,
              .commands = kBench | kTrace | kPlanning, .default_text = "1", .minimum = 1,
              .maximum = 1e8,
              .help = "sequences computed at once"},
    OptionRow{.name = "global_batch_size", .kind = integer, .group = measurement,
              .commands = kBench | kPlanning, .minimum = 1, .maximum = 1e9,
              .help = "sequences per optimizer step, a multiple of micro_batch_size, which is the default"},
    OptionRow{.name = "max_iters", .kind = integer, .group = measurement, .commands = kBench, .default_text = "45", .minimum = 1,
              .maximum = 1e9,
              .help = "iterations in all"},
    OptionRow{.name = "warmup_iters", .kind = integer, .group = measurement, .commands = kBench, .default_text = "25", .minimum = 0,
              .help = "first iterations, which are not counted"},
    OptionRow{.name = "compile", .kind = choice, .group = execution, .commands = kBench, .default_text = "reprise",
              .choices = "reprise|eager",
              .help = "the compiler, or node by node with nothing fused"},
    OptionRow{.name = "device", .kind = choice, .group = execution, .commands = kBench, .default_text = "cpu", .choices = "cpu",
              .help = "where the step runs"},
    OptionRow{.name = "low_precision_mode", .kind = choice, .group = numerics, .commands = kBench, .default_text = "none",
              .choices = "none",
              .help = "accepted for command lines of other benchmarks"},
    OptionRow{.name = "checkpoint_activations", .kind = flag, .group = execution, .commands = kBench, .default_text = "False",
              .help = "accepted for command lines of other benchmarks; True is recompute full"},
};

}  // namespace

std::span<const OptionRow> bench_option_rows() { return kRows; }

}  // namespace reprise

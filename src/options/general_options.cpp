// SPDX-License-Identifier: Apache-2.0
// Options that several commands share: numbers, execution, files.
#include <array>

#include "base/thread_pool.h"
#include "options/option_rows.h"

namespace reprise {
namespace {

using enum OptionKind;
using enum OptionGroup;

constexpr CommandSet kAll = kTrain | kGenerate | kEval | kBench | kPlanning | kTrace | kRunTrace | kModels | kInfo | kExport | kCompletion;

constexpr std::array kRows{
    OptionRow{.name = "dtype", .kind = choice, .group = numerics, .commands = kTrain | kBench | kPlanning | kTrace,
              .default_text = "float32", .choices = "float32|bfloat16",
              .help = "type of parameters and activations"},
    OptionRow{.name = "master_weights", .kind = flag, .group = numerics, .commands = kTrain | kBench | kPlanning | kTrace,
              .default_text = "False",
              .help = "with bfloat16: keep float32 weights and moments beside the bfloat16 ones"},
    OptionRow{.name = "rounding", .kind = choice, .group = numerics, .commands = kTrain | kBench | kPlanning | kTrace,
              .default_text = "stochastic", .choices = "stochastic|nearest",
              .help = "how updated bfloat16 parameters and moments are rounded without master weights"},
    OptionRow{.name = "executors", .kind = list, .group = execution,
              .commands = kTrain | kGenerate | kEval | kBench | kPlanning | kTrace | kRunTrace, .default_text = "onednn,loops,reference",
              .choices = "onednn|loops|reference",
              .help = "executors in order of preference"},
    OptionRow{.name = "threads", .kind = integer, .group = execution,
              .commands = kTrain | kGenerate | kEval | kBench | kPlanning | kRunTrace, .default_text = "0", .minimum = 0,
              .maximum = kMostThreads, .changes_on_resume = true,
              .help = "threads to compute with; 0 is all processors"},
    OptionRow{.name = "seed", .kind = integer, .group = general, .commands = kTrain | kGenerate | kBench | kTrace | kRunTrace,
              .default_text = "1337", .minimum = 0, .help = "seed of every random draw; the same seed gives the same bits"},
    OptionRow{.name = "dump", .kind = path, .group = general, .commands = kTrain | kBench | kPlanning | kTrace, .placeholder = "DIR",
              .command_line_only = true,
              .help = "write every stage of the compile into this folder"},
    OptionRow{.name = "json", .kind = path, .group = general, .commands = kEval | kBench | kPlan | kModels | kInfo,
              .placeholder = "FILE", .command_line_only = true,
              .help = "write the results as JSON too; - is standard output"},
    OptionRow{.name = "quiet", .kind = flag, .group = general, .commands = kTrain | kGenerate | kEval | kBench | kTrace | kRunTrace,
              .default_text = "False", .command_line_only = true, .help = "print results only, no progress"},
    OptionRow{.name = "config", .kind = path, .group = general, .commands = kTrain | kGenerate | kEval | kBench | kTrace,
              .placeholder = "FILE.toml", .command_line_only = true,
              .help = "read options from a TOML file; the command line wins"},
    OptionRow{.name = "print_config", .kind = flag, .group = general, .commands = kTrain | kGenerate | kEval | kBench | kTrace,
              .default_text = "False", .command_line_only = true, .help = "print the resolved options as TOML and stop"},
    OptionRow{.name = "shell", .kind = choice, .group = general, .commands = kCompletion, .choices = "bash|zsh|fish",
              .command_line_only = true,
              .help = "the shell to complete for"},
    OptionRow{.name = "help", .kind = flag, .group = general, .commands = kAll, .default_text = "False", .command_line_only = true,
              .help = "show this help and stop"},
};

}  // namespace

std::span<const OptionRow> general_option_rows() { return kRows; }

}  // namespace reprise

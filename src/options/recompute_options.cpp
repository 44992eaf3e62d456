// SPDX-License-Identifier: Apache-2.0
// Options of recomputation, and of the commands that plan and explain it.
#include <array>

#include "options/option_rows.h"

namespace reprise {
namespace {

using enum OptionKind;
using enum OptionGroup;

constexpr std::string_view kForms = "none|tags|auto|full|layers:N|ops[:FILE]|alternate[:GLOB]|regions:GLOB|file:PLAN";

constexpr std::array kRows{
    OptionRow{.name = "recompute", .kind = text, .group = execution, .commands = kTrain, .default_text = "auto", .placeholder = kForms,
              .changes_on_resume = true,
              .help = "which values the backward makes again instead of keeping them; the bits of the training stay the same"},
    OptionRow{.name = "recompute", .kind = text, .group = execution, .commands = kBench | kTrace | kExplain, .default_text = "none",
              .placeholder = kForms,
              .help = "which values the backward makes again instead of keeping them"},
    OptionRow{.name = "recompute", .kind = text, .group = execution, .commands = kPlan, .placeholder = kForms,
              .help = "plan for this policy alone; all are compared by default"},
    OptionRow{.name = "early_stop", .kind = flag, .group = execution, .commands = kTrain | kBench | kTrace | kPlan | kExplain,
              .default_text = "True", .changes_on_resume = true,
              .help = "run no more of a region again than is needed; off with compat_eager unless given"},
    OptionRow{.name = "compat_eager", .kind = flag, .group = execution, .commands = kBench | kTrace | kPlan | kExplain,
              .default_text = "False",
              .help = "as systems do that work op by op: store what a save list names though nothing reads it, "
                      "run regions again to their ends"},
    OptionRow{.name = "check_recompute", .kind = flag, .group = execution, .commands = kTrain | kBench, .default_text = "False",
              .command_line_only = true,
              .help = "first run one step with and one without the policy and compare loss, gradients and parameters bit for bit"},
    OptionRow{.name = "out", .kind = path, .group = output, .commands = kPlan, .placeholder = "FILE", .command_line_only = true,
              .help = "write the recompute plan of --recompute, for --recompute file:FILE; - is standard output"},
    OptionRow{.name = "svg", .kind = path, .group = output, .commands = kPlan, .placeholder = "FILE", .command_line_only = true,
              .help = "draw the memory in use over the step, a line for each policy; - is standard output"},
    OptionRow{.name = "value", .kind = text, .group = output, .commands = kExplain, .placeholder = "VALUE", .command_line_only = true,
              .help = "explain this value of the step instead of the peak"},
};

}  // namespace

std::span<const OptionRow> recompute_option_rows() { return kRows; }

}  // namespace reprise

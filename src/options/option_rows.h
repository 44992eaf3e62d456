// SPDX-License-Identifier: Apache-2.0
// The parts the option table is made of, one file each, and the commands that their options are of.
#pragma once

#include <span>

#include "options/option.h"

namespace reprise {

inline constexpr CommandSet kTrain = only(Command::train);
inline constexpr CommandSet kGenerate = only(Command::generate);
inline constexpr CommandSet kEval = only(Command::eval);
inline constexpr CommandSet kBench = only(Command::bench);
inline constexpr CommandSet kTrace = only(Command::trace);
inline constexpr CommandSet kPlan = only(Command::plan);
inline constexpr CommandSet kExplain = only(Command::explain);
inline constexpr CommandSet kPlanning = kPlan | kExplain;
inline constexpr CommandSet kRunTrace = only(Command::run_trace);
inline constexpr CommandSet kModels = only(Command::models);
inline constexpr CommandSet kInfo = only(Command::info);
inline constexpr CommandSet kExport = only(Command::export_model);
inline constexpr CommandSet kCompletion = only(Command::completion);

std::span<const OptionRow> model_option_rows();
std::span<const OptionRow> train_option_rows();
std::span<const OptionRow> generate_option_rows();
std::span<const OptionRow> eval_option_rows();
std::span<const OptionRow> bench_option_rows();
std::span<const OptionRow> trace_option_rows();
std::span<const OptionRow> export_option_rows();
std::span<const OptionRow> recompute_option_rows();
std::span<const OptionRow> general_option_rows();

}  // namespace reprise

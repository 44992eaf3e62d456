// SPDX-License-Identifier: Apache-2.0
// The parts the option table is made of, one file each.
#pragma once

#include <span>

#include "options/option.h"

namespace reprise {

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

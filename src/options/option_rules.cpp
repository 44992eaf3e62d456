// SPDX-License-Identifier: Apache-2.0
#include "options/option_rules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "options/option_table.h"

namespace reprise {
namespace {

constexpr std::int64_t kWarmupSteps = 100;
constexpr std::int64_t kByteTokens = 256;  // byte-level BPE starts from one token per byte

[[noreturn]] void fail(const std::string& what) { throw UserError(what); }

void derive(ResolvedOptions& options, std::string_view name, OptionValue value, std::string_view from) {
  if (!options.has(name)) options.set(name, std::move(value), OptionSource::derived, fmt::format("default, from {}", from));
}

/// Training ends by one of these. The strongest source decides; two from one source contradict each other.
void choose_end(ResolvedOptions& options) {
  constexpr std::array<std::string_view, 3> kEnds{"max_steps", "max_tokens", "epochs"};
  OptionSource strongest = OptionSource::unset;
  for (const auto end : kEnds) strongest = std::max(strongest, options.option(end).source);
  std::vector<std::string_view> chosen;
  for (const auto end : kEnds) {
    if (options.option(end).source == strongest) {
      chosen.push_back(end);
    } else {
      options.unset(end);
    }
  }
  if (chosen.size() > 1) fail(fmt::format("{} each say when training ends; give one", fmt::join(chosen, " and ")));
}

void check_batch(ResolvedOptions& options) {
  const std::int64_t micro = options.get_int("micro_batch_size");
  derive(options, "global_batch_size", micro, "micro_batch_size");
  const std::int64_t global = options.get_int("global_batch_size");
  if (global % micro != 0) {
    fail(fmt::format("global_batch_size must be a multiple of micro_batch_size, not {} with {}; change one", global, micro));
  }
}

void check_numerics(const ResolvedOptions& options) {
  const bool float32 = options.get_text("dtype") == "float32";
  if (options.get_flag("master_weights") && float32) {
    fail("master_weights acts only with dtype bfloat16; leave it out, or add --dtype bfloat16");
  }
  if (!options.differs_from_default("rounding")) return;
  if (float32) fail("rounding acts only with dtype bfloat16; leave it out, or add --dtype bfloat16");
  if (options.get_flag("master_weights")) fail("rounding does not act with master_weights; leave one out");
}

/// The end of schedule wsd. Without max_steps the number of steps, and so its fifth, is known only to the trainer.
void check_decay(ResolvedOptions& options) {
  if (options.get_text("schedule") == "wsd") {
    if (!options.has("max_steps")) return;
    derive(options, "decay_steps", std::max<std::int64_t>(options.get_int("max_steps") / 5, 1), "max_steps");
    return;
  }
  for (const std::string_view name : {"decay_steps", "decay_shape"}) {
    if (options.differs_from_default(name)) fail(fmt::format("{} acts only with schedule wsd; leave it out, or add --schedule wsd", name));
  }
}

void check_learning_rate(ResolvedOptions& options) {
  const double highest = options.get_number("learning_rate");
  if (options.get_text("schedule") == "constant") {
    if (options.has("min_lr")) fail("min_lr does not act with schedule constant; leave one out");
  } else {
    derive(options, "min_lr", highest / 10, "learning_rate");
    const double lowest = options.get_number("min_lr");
    if (lowest > highest) fail(fmt::format("min_lr must be at most learning_rate, not {} with {}; change one", lowest, highest));
  }
  if (!options.has("max_steps")) {
    derive(options, "warmup_steps", kWarmupSteps, "the table");
    return;
  }
  const std::int64_t steps = options.get_int("max_steps");
  derive(options, "warmup_steps", std::min(kWarmupSteps, steps / 10), "max_steps");
  const std::int64_t warmup = options.get_int("warmup_steps");
  if (warmup > steps) fail(fmt::format("warmup_steps must be at most max_steps, not {} with {}; change one", warmup, steps));
}

void check_val_data(const std::string& text) {
  double share = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), share);
  const bool number = result.ec == std::errc{} && result.ptr == text.data() + text.size();
  if (text.empty() || (number && !(share >= 0 && share < 1))) {
    fail(fmt::format("val_data must be a file or a share of at least 0 and below 1, not \"{}\"", text));
  }
}

void check_tokenizer(const std::string& text) {
  if (text.empty()) fail("tokenizer must be char, bpe:N or a file, not \"\"");
  if (!text.starts_with("bpe:")) return;
  std::int64_t size = 0;
  const auto result = std::from_chars(text.data() + 4, text.data() + text.size(), size);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size() || size <= kByteTokens) {
    fail(fmt::format("tokenizer bpe:N needs an integer N above {}, not \"{}\"", kByteTokens, text));
  }
}

/// How far regions run again acts only where something may run again as a region.
void check_recompute(ResolvedOptions& options) {
  const bool compat = options.has("compat_eager") && options.get_flag("compat_eager");
  const std::string policy = options.has("recompute") ? options.get_text("recompute") : "all";
  for (const std::string_view name : {"early_stop", "compat_eager"}) {
    const bool acts = options.has(name) && options.get_flag(name) == (name == "compat_eager");
    if (acts && (policy == "none" || policy == "auto" || policy.starts_with("file:"))) {
      fail(fmt::format("{}{} does not act with recompute {}; leave it out, or choose full, layers:N, ops or alternate",
                       name == "compat_eager" ? "" : "no_", name, policy));
    }
  }
  if (policy == "none" && options.has("check_recompute") && options.get_flag("check_recompute")) {
    fail("check_recompute does not act with recompute none, with which it compares; leave it out, or choose a policy");
  }
  if (compat && !options.given("early_stop")) options.set("early_stop", false, OptionSource::derived, "compat_eager");
}

/// Standard input is read to its end by the first who asks.
void check_standard_input(const ResolvedOptions& options) {
  if (options.has("resume")) return;  // its run holds the text and the list that were read
  std::vector<std::string_view> readers;
  for (const std::string_view name : {"config", "file", "tokenizer", "val_data"}) {
    if (options.has(name) && options.get_text(name) == "-") readers.push_back(name);
  }
  if (options.has("data")) {
    for (const std::string& path : options.get_list("data")) {
      if (path == "-") readers.emplace_back("data");
    }
  }
  if (options.has("recompute") && options.get_text("recompute").ends_with(":-")) readers.emplace_back("recompute");
  if (readers.size() > 1) {
    fail(fmt::format("standard input can be read once, and {} ask for it; give a file for one", fmt::join(readers, " and ")));
  }
}

bool same_place(const std::string& a, const std::string& b) {
  std::error_code error;
  if (a == "-" || b == "-") return a == b;
  if (std::filesystem::is_character_file(a, error)) return false;  // takes what comes
  const auto plain = [&](const std::string& path) { return std::filesystem::absolute(path, error).lexically_normal(); };
  return plain(a) == plain(b) || std::filesystem::equivalent(a, b, error);
}

/// Of two results in one file the first would be lost.
void check_outputs(const ResolvedOptions& options) {
  std::vector<std::string_view> outputs;
  for (const std::string_view name : {"json", "svg", "per_document", "out"}) {
    if (options.has(name)) outputs.push_back(name);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t k = i + 1; k < outputs.size(); ++k) {
      const std::string& place = options.get_text(outputs[i]);
      if (!same_place(place, options.get_text(outputs[k]))) continue;
      fail(fmt::format("{} and {} are to be written to one place; give each its own: {}", outputs[i], outputs[k],
                       place == "-" ? "standard output" : place));
    }
  }
}

void check_resume(const ResolvedOptions& options) {
  if (!options.has("resume")) return;
  if (options.get_flag("overwrite")) fail("resume continues a run and overwrite removes it; give one");
  if (options.given("init_from") && options.option("init_from").source == OptionSource::command_line) {
    fail("resume takes its weights from the run; leave init_from out");
  }
}

void check_plan(ResolvedOptions& options) {
  check_batch(options);
  check_numerics(options);
  check_recompute(options);
  if (options.has("out") && !options.has("recompute")) fail("out writes the plan of one policy; add --recompute POLICY");
}

/// Of a trace that is printed before anything runs again, a policy changes nothing.
void check_stage(const ResolvedOptions& options) {
  const std::string& stage = options.get_text("stage");
  if (stage == "recomputed" || stage == "scheduled" || options.get_text("recompute") == "none") return;
  fail(fmt::format("recompute {} does not act at stage {}; leave it out, or add --stage recomputed", options.get_text("recompute"), stage));
}

void check_train(ResolvedOptions& options) {
  check_resume(options);
  choose_end(options);
  check_batch(options);
  check_numerics(options);
  check_learning_rate(options);
  check_decay(options);
  check_recompute(options);
  check_val_data(options.get_text("val_data"));
  check_tokenizer(options.get_text("tokenizer"));
}

void check_bench(ResolvedOptions& options) {
  check_batch(options);
  check_numerics(options);
  const std::int64_t all = options.get_int("max_iters");
  const std::int64_t warmup = options.get_int("warmup_iters");
  if (warmup >= all) {
    fail(fmt::format("warmup_iters must be below max_iters, so that an iteration is counted, not {} with {}; change one", warmup, all));
  }
  if (options.get_flag("checkpoint_activations")) {
    if (options.given("recompute") && options.get_text("recompute") != "full") {
      fail(fmt::format("checkpoint_activations True is recompute full, not {}; give one", options.get_text("recompute")));
    }
    options.set("recompute", std::string("full"), OptionSource::derived, "checkpoint_activations");
  }
  check_recompute(options);
}

void check_generate(const ResolvedOptions& options) {
  if (options.get_number("temperature") != 0) return;
  for (const std::string_view name : {"top_k", "top_p"}) {
    if (options.differs_from_default(name)) {
      fail(fmt::format("{} does not act with temperature 0, which always takes the likeliest token; leave one out", name));
    }
  }
}

}  // namespace

void apply_option_rules(ResolvedOptions& options) {
  check_standard_input(options);
  check_outputs(options);
  switch (options.command()) {
    case Command::train: check_train(options); break;
    case Command::bench: check_bench(options); break;
    case Command::generate: check_generate(options); break;
    case Command::trace:
      check_numerics(options);
      check_recompute(options);
      check_stage(options);
      break;
    case Command::plan: check_plan(options); break;
    case Command::explain:
      check_batch(options);
      check_numerics(options);
      check_recompute(options);
      break;
    case Command::eval:
    case Command::run_trace:
    case Command::models:
    case Command::info:
    case Command::export_model:
    case Command::completion: break;
  }
}

void require_options(const ResolvedOptions& options) {
  const CommandRow& command = command_row(options.command());
  std::vector<std::string> missing;
  if (command.positional_required && !options.has(command.positional)) {
    missing.emplace_back(placeholder_of(*options.option(command.positional).row));
  }
  if (options.command() == Command::train && !options.has("resume")) {
    if (!options.has("data")) missing.emplace_back("--data PATH...");
    if (!options.has("out")) missing.emplace_back("--out RUN");
  }
  if (options.command() == Command::export_model && !options.has("out")) missing.emplace_back("--out DIR");
  if (options.command() == Command::eval && !options.has("data")) missing.emplace_back("--data PATH...");
  if (missing.empty()) return;
  fail(fmt::format("{0} needs {1}: reprise {0} {2}", command.name, fmt::join(missing, " and "), command.usage));
}

}  // namespace reprise

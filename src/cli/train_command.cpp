// SPDX-License-Identifier: Apache-2.0
// `reprise train`: options to a dataset, a model, a schedule and a Trainer.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/execution.h"
#include "cli/model_source.h"
#include "cli/standard_streams.h"
#include "cli/stop_signal.h"
#include "cli/units.h"
#include "io/directory.h"
#include "io/file_write.h"
#include "io/gguf.h"
#include "io/path_query.h"
#include "io/toml.h"
#include "nn/gpt.h"
#include "nn/gpt_config_json.h"
#include "recompute/policy.h"
#include "reprise/error.h"
#include "reprise/log.h"
#include "train/batch_sampler.h"
#include "train/checkpoint.h"
#include "train/dataset.h"
#include "train/run_directory.h"
#include "train/trainer.h"
#include "train/training_programs.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

/// The text as a shell takes it for one word.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "_-./+:,=@%";
  const auto plain = [&](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != std::string_view::npos; };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// Weights fix the vocabulary.
void take_vocabulary(GptConfig& config, const GptConfig& weights) {
  config.vocab_size = weights.vocab_size;
  config.padded_vocab_size = weights.padded_vocab_size;
  config.vocab_follows_tokenizer = false;
}

/// The model and where its starting weights are, before the vocabulary is fitted. A run that has saved a model keeps it: what
/// MODEL named may be gone.
ModelSource choose_model(const ResolvedOptions& options, const RunDirectory* resumed) {
  const std::vector<std::string> ignored = ignored_config_keys(options);
  if (resumed != nullptr && path_exists(resumed->model() / "config.json")) {
    ModelSource source{read_config(resumed->model(), ignored).config, std::nullopt};
    source.config.set_dropout(options.get_number("dropout"));  // not every family's config.json keeps it
    return source;
  }
  const bool from_weights = options.has("init_from");
  ModelSource source = from_weights && !options.given("model")
                           ? find_model(find_model_folder(options.get_text("init_from")).string(), ignored)
                           : find_model(options.get_text("model"), ignored);
  if (from_weights) source.folder = find_model_folder(options.get_text("init_from"));
  if (source.folder && source.config.vocab_follows_tokenizer) take_vocabulary(source.config, read_config(*source.folder, ignored).config);
  const std::int64_t longest = source.config.block_size;
  apply_size_options(options, source.config);
  if (source.folder) source.config.block_size = longest;  // as its weights and its files say, however short the training text is cut
  source.config.set_dropout(options.get_number("dropout"));
  return source;
}

/// Tokens of a training sequence.
std::int64_t training_length(const ResolvedOptions& options, const ModelSource& source) {
  return options.has("block_size") ? options.get_int("block_size") : source.config.block_size;
}

/// The tokenizer to use: the one that starting weights come with, unless another is asked for.
std::string choose_tokenizer(const ResolvedOptions& options, const ModelSource& source) {
  if (!options.given("tokenizer") && source.folder) {
    if (is_gguf(*source.folder)) return source.folder->string();
    if (path_exists(*source.folder / "tokenizer.json")) return (*source.folder / "tokenizer.json").string();
  }
  return options.get_text("tokenizer");
}

DatasetOptions dataset_options(const ResolvedOptions& options, const ModelSource& source) {
  DatasetOptions data;
  data.paths = options.get_list("data");
  data.validation = options.get_text("val_data");
  data.format = *parse_data_format(options.get_text("data_format"));
  if (options.given("text_field")) data.text_field = options.get_text("text_field");
  data.mask_prompt = options.get_flag("mask_prompt");
  data.tokenizer = choose_tokenizer(options, source);
  data.block_size = training_length(options, source);
  data.warn = [](const std::string& message) { log_warning(message); };
  return data;
}

Dataset make_dataset(const ResolvedOptions& options, const ModelSource& source, const RunDirectory& run) {
  const DatasetOptions data = dataset_options(options, source);
  return has_dataset(run.data()) ? open_dataset(run.data(), data) : build_dataset(run.data(), data);
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

constexpr double kMostSteps = 1e15;

/// Optimizer steps until the end: given, or from tokens or passes over the data.
std::int64_t total_steps(const ResolvedOptions& options, const TrainerOptions& train, const Dataset& data) {
  if (options.has("max_steps")) return options.get_int("max_steps");
  const std::int64_t rows = train.micro_batch_size * train.micro_steps;
  if (options.has("max_tokens")) return ceil_div(options.get_int("max_tokens"), rows * train.block_size);
  const BatchOptions batch{train.block_size, train.micro_batch_size, train.micro_steps, train.seed};
  const std::int64_t tokens = data.train.tokens().size();
  const std::int64_t epoch = train.pack_documents ? DocumentPacking(data.train.documents(), tokens, train.block_size).row_count()
                                                  : BatchSampler(tokens, batch).windows_per_epoch();
  const double windows = options.get_number("epochs") * static_cast<double>(epoch);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(std::min(windows / static_cast<double>(rows), kMostSteps))));
}

LrSchedule make_schedule(const ResolvedOptions& options, std::int64_t steps) {
  LrSchedule schedule;
  schedule.kind = *parse_schedule_kind(options.get_text("schedule"));
  schedule.peak = options.get_number("learning_rate");
  schedule.min_rate = options.has("min_lr") ? options.get_number("min_lr") : schedule.peak;
  schedule.total_steps = steps;
  schedule.warmup_steps = options.get_int("warmup_steps");
  if (!options.given("warmup_steps")) schedule.warmup_steps = std::min(schedule.warmup_steps, steps / 10);
  if (schedule.kind == ScheduleKind::wsd) {
    schedule.decay_steps = options.has("decay_steps") ? options.get_int("decay_steps") : std::max<std::int64_t>(steps / 5, 1);
    schedule.decay_shape = *parse_decay_shape(options.get_text("decay_shape"));
  }
  check_schedule(schedule);
  return schedule;
}

std::string resume_command(const RunDirectory& run) { return "reprise train --resume " + shell_word(run.path().string()); }

/// What the file of a policy ops:FILE or file:PLAN holds. The run keeps a copy, from which it resumes, wherever that is and whatever
/// became of the file; a policy that is given anew reads its own.
std::optional<std::string> recompute_file(const ResolvedOptions& options, const RunDirectory& run) {
  const std::string path = parse_policy(options.get_text("recompute")).path;
  if (path.empty()) return std::nullopt;
  const fs::path copy = run.path() / "recompute_file.txt";
  const bool is_the_runs = options.has("resume") && options.option("recompute").source == OptionSource::file;
  if (is_the_runs && fs::exists(copy)) return read_text_file(copy);
  if (is_the_runs && !fs::exists(path)) {
    throw UserError(fmt::format("the run's option recompute is {}, a file that is not there, and the run has no copy of it ({}); "
                                "go on without: {} --recompute auto",
                                options.get_text("recompute"), copy.string(), resume_command(run)));
  }
  std::string text = read_text_file(path);
  if (!options.has("resume")) write_text_file(copy, text);
  return text;
}

TrainerOptions trainer_options(const ResolvedOptions& options, const ModelSource& source, const Dataset& data, const RunDirectory& run) {
  TrainerOptions train;
  train.config = source.config;
  train.init_from = source.folder;
  if (source.folder && !is_gguf(*source.folder)) train.layout_of = source.folder;
  train.ignore_config_keys = ignored_config_keys(options);
  train.dtype = dtype_option(options);
  train.block_size = training_length(options, source);
  train.micro_batch_size = options.get_int("micro_batch_size");
  train.micro_steps = options.get_int("global_batch_size") / train.micro_batch_size;
  train.pack_documents = options.get_flag("pack_documents");
  if (options.has("trainable")) train.trainable = fmt::format("{}", fmt::join(options.get_list("trainable"), ","));
  train.adamw.beta1 = options.get_number("beta1");
  train.adamw.beta2 = options.get_number("beta2");
  train.adamw.weight_decay = options.get_number("weight_decay");
  train.adamw.max_norm = options.get_number("max_norm");
  train.adamw.master_weights = options.get_flag("master_weights");
  if (train.dtype != DType::float32 && !train.adamw.master_weights) train.adamw.rounding = rounding_option(options);
  train.seed = static_cast<std::uint64_t>(options.get_int("seed"));
  train.max_steps = total_steps(options, train, data);
  train.schedule = make_schedule(options, train.max_steps);
  if (options.has("max_time")) train.max_seconds = options.get_number("max_time");
  train.eval_interval = options.get_int("eval_interval");
  train.eval_batches = options.get_int("eval_batches");
  train.sample_interval = options.get_int("sample_interval");
  train.save_interval = options.get_int("save_interval");
  train.keep_last = options.get_int("keep_last");
  train.log_interval = options.get_int("log_interval");
  train.compile = compile_options(options);
  train.compile.recompute = recompute_options(options, train.config, options.get_text("recompute"), recompute_file(options, run));
  train.resume_command = resume_command(run);
  return train;
}

std::string data_line(const ResolvedOptions& options, const Dataset& data) {
  const std::vector<std::string>& paths = options.get_list("data");
  const bool one_file = paths.size() == 1 && data.files <= 1;
  const std::int64_t files = data.files > 0 ? data.files : static_cast<std::int64_t>(paths.size());
  std::string text = one_file ? fs::path(paths[0]).filename().string() : fmt::format("{} files", files);
  if (data.text_bytes > 0) text += ": " + format_bytes(data.text_bytes);
  text +=
      fmt::format(", {} {}; {} train", data.tokenizer->vocab_size(),
                  data.tokenizer->kind() == "char" ? "characters" : "tokens in the vocabulary", format_count(data.train.tokens().size()));
  if (data.validation) text += fmt::format(", {} validation", format_count(data.validation->tokens().size()));
  return "data    " + text + " tokens";
}

std::string model_line(const TrainerOptions& train) {
  std::string numbers = train.dtype == DType::float32 ? "float32" : "bfloat16";
  if (train.adamw.master_weights) numbers += " with float32 masters";
  return fmt::format("model   {} layers × {}, {} parameters; {}, {} thread{} ({})", train.config.n_layer, train.config.n_embd,
                     format_count(parameter_count(train.config)), numbers, train.compile.threads, train.compile.threads == 1 ? "" : "s",
                     isa_title(train.compile.target.isa));
}

std::string memory_line(const ResolvedOptions& options, const RecomputeOptions& recompute, std::int64_t predicted,
                        std::uint64_t available) {
  const std::string list = save_list_text(recompute).empty() ? "" : fmt::format(", save list {}", recompute.save_list_name);
  return fmt::format("memory  predicted {} ({} available) · recompute {}{}{}", format_bytes(predicted),
                     format_bytes(static_cast<std::int64_t>(available)), options.get_text("recompute"),
                     options.given("recompute") ? "" : " (default)", list);
}

RunDirectory make_run(const ResolvedOptions& options) {
  if (options.has("resume")) return RunDirectory::open(options.get_text("resume"));
  return RunDirectory::create(options.get_text("out"), config_text(options), options.get_flag("overwrite"));
}

/// The run's options must read back when it is resumed. Names of files are bytes, but TOML is UTF-8.
void check_config_reads_back(const ResolvedOptions& options) {
  try {
    parse_toml(config_text(options), "options");
  } catch (const UserError& error) {
    throw UserError(fmt::format("the options could not be read back from config.toml; give names of valid UTF-8: {}", error.what()));
  }
}

/// Refuses what would be read from the run that is to be replaced: that run is out of the way by then.
void check_nothing_of_replaced(const ResolvedOptions& options) {
  if (!options.get_flag("overwrite")) return;
  std::error_code error;
  const fs::path run = fs::weakly_canonical(options.get_text("out"), error);
  const auto check = [&](std::string_view option, const std::string& path) {
    if (path.empty() || !fs::exists(path, error)) return;
    const fs::path below = fs::canonical(path, error).lexically_relative(run);
    if (below.empty() || *below.begin() == "..") return;
    throw UserError(
        fmt::format("{} lies in the run that overwrite replaces; copy it to another place, or give another --out: {}", option, path));
  };
  for (const std::string& path : options.get_list("data")) check("data", path);
  for (const std::string_view name : {"val_data", "tokenizer", "model", "init_from"}) {
    if (options.has(name)) check(name, options.get_text(name));
  }
  check("recompute", parse_policy(options.get_text("recompute")).path);
}

/// What must hold before a folder is made, or an old run removed: the model and the text are there.
void check_inputs(const ResolvedOptions& options) {
  check_config_reads_back(options);
  check_nothing_of_replaced(options);
  check_data_files(dataset_options(options, choose_model(options, nullptr)));
}

int train_in(const RunDirectory& run, const ResolvedOptions& options, const std::atomic<int>& signal) {
  const bool resume = options.has("resume");
  ModelSource source = choose_model(options, resume ? &run : nullptr);
  const Dataset data = make_dataset(options, source, run);
  fit_vocabulary(source.config, data.tokenizer->vocab_size());
  TrainerOptions train = trainer_options(options, source, data, run);
  if (resume && latest_checkpoint(run.path())) train.init_from.reset();
  train.stop_signal = &signal;
  if (!options.get_flag("quiet")) {
    train.style = terminal_style(STDERR_FILENO);
    train.out = print_error;
    print_error(fmt::format("{}\n{}\n", data_line(options, data), model_line(train)));
  }
  if (options.get_flag("check_recompute") && !report_recompute_check(options, training_recompute_difference(train))) return kExitNo;
  const std::uint64_t available = available_memory_bytes();
  const RecomputeOptions recompute = train.compile.recompute;
  Trainer trainer(std::move(train), run, data, resume);
  if (!options.get_flag("quiet")) print_error(memory_line(options, recompute, trainer.engine().predicted_peak_bytes(), available) + "\n");

  run.forget_replaced();
  look_for_stop_signals();
  const TrainResult result = trainer.run();
  if (result.signal != 0) return kExitSignal + result.signal;
  const std::string folder = shell_word(run.path().string());
  if (!result.trained) {
    print_error(fmt::format("reprise: the run had ended already, after {} steps; --max_steps makes it longer\n", result.step));
  }
  if (result.validation_loss || result.trained) {
    print_note(fmt::format("{}loss {:.4f} after {} steps; model in {}/model\n", result.validation_loss ? "validation " : "",
                           result.validation_loss.value_or(result.loss), result.step, folder));
  }
  print_note(fmt::format("write text with: reprise generate {}\n", folder));
  return 0;
}

}  // namespace

int run_train(const ResolvedOptions& options) {
  const std::atomic<int>& signal = catch_stop_signals();
  const bool resume = options.has("resume");
  if (!resume) check_inputs(options);
  const RunDirectory run = make_run(options);
  set_early_stop_message(fmt::format("reprise: interrupted before the first step; continue with: {}\n", resume_command(run)));
  // A new run that did not get to train leaves nothing to resume, and would be in the way of the next attempt.
  // A run that was to be replaced comes back.
  const auto abandon = [&] {
    if (resume || run.restore_replaced()) return;
    if (!latest_checkpoint(run.path()) && !path_exists(run.path() / "metrics.jsonl")) remove_path(run.path());
  };
  try {
    const int status = train_in(run, options, signal);
    if (status == kExitNo) abandon();
    return status;
  } catch (const std::exception&) {
    abandon();
    throw;
  }
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "io/file_write.h"
#include "io/path_query.h"
#include "tokenizer/tokenizer.h"
#include "train/batch_sampler.h"
#include "train/checkpoint.h"
#include "train/document_packing.h"
#include "train/folder_layout.h"
#include "train/metrics.h"
#include "train/model_folder.h"
#include "train/parameter_source.h"
#include "train/step_runner.h"
#include "train/text_generator.h"
#include "train/training_programs.h"
#include "train/update_probe.h"

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Mean time of the steps since the last report; validation, samples and checkpoints do not count.
class StepTimer {
 public:
  void start() { start_ = Clock::now(); }
  void stop() {
    seconds_ += seconds_since(start_);
    ++steps_;
  }
  double ms_per_step() const { return seconds_ * 1000 / static_cast<double>(steps_); }
  void reset() {
    seconds_ = 0;
    steps_ = 0;
  }

 private:
  Clock::time_point start_;
  double seconds_ = 0;
  std::int64_t steps_ = 0;
};

/// Whether the folder has a tokenizer.json of this tokenizer.
bool has_tokenizer(const std::filesystem::path& folder, const Tokenizer& tokenizer) {
  if (!path_exists(folder / "tokenizer.json")) return false;
  try {
    return load_tokenizer(folder)->fingerprint() == tokenizer.fingerprint();
  } catch (const UserError&) {
    return false;  // of a kind that is not read here
  }
}

std::string describe(const std::optional<NonFinite>& origin) {
  if (!origin) return "a replay of the step stayed finite";
  const std::string_view what = origin->nan ? "NaN" : "infinity";
  if (origin->op.empty()) return fmt::format("{} came in with {}", what, origin->value);
  return fmt::format("{} was first made by op {}{}{}: {}", what, origin->op, origin->module.empty() ? "" : " of ", origin->module,
                     origin->node);
}

}  // namespace

struct Trainer::State {
  TrainerOptions options;
  const RunDirectory& run;
  const Dataset& data;
  std::optional<DocumentPacking> train_rows, validation_rows;  // with pack_documents
  GptPrograms programs;
  Engine engine;
  StepRunner steps;
  UpdateProbe probe;
  ProgressPrinter printer;
  AppendFile log;
  std::optional<MetricsWriter> metrics;
  TrainState progress;
  std::optional<FolderLayout> layout;  // of the folder that the weights came from, or of the run's own
  bool tokenizer_from_layout = false;  // its tokenizer files are the run's
  std::int64_t saved_step = -1;     // of the latest checkpoint
  std::int64_t exported_step = -1;  // of the model folder, where this process wrote it
  std::optional<double> validation_loss;

  State(TrainerOptions options_in, const RunDirectory& run_in, const Dataset& data_in, bool resume)
      : options(std::move(options_in)),
        run(run_in),
        data(data_in),
        train_rows(packing_of(&data.train)),
        validation_rows(packing_of(data.validation ? &*data.validation : nullptr)),
        programs(compile_training_run(options, data.validation.has_value(), resume)),
        engine(programs.list(), training_engine_options(options, programs, resume)),
        steps(programs, engine, options, data.train.tokens(), train_rows ? &*train_rows : nullptr),
        probe(programs, engine, options.adamw),
        printer([this](std::string_view text) { if (options.out) options.out(text); }, options.style),
        log(run.path() / "log.txt") {
    load_tables(programs, engine);
    read_layout_of_model();
    set_initial_weights();
    const auto checkpoint = resume ? latest_checkpoint(run.path()) : std::nullopt;
    if (checkpoint) {
      restore(*checkpoint);
      std::error_code ignored;
      const std::filesystem::path newest = std::filesystem::read_symlink(run.path() / "latest", ignored);
      if (!ignored && newest.filename() != checkpoint->filename()) {
        log_warning(fmt::format("the checkpoint {} is not complete; going on from {}", newest.string(), checkpoint->filename().string()));
      }
    }
    metrics.emplace(run.path(), resume ? std::optional(progress.step) : std::nullopt);
    write_text_file(run.path() / "plan.txt", programs.training->step.plan.str());
    write_text_file(run.path() / "recompute_plan.txt", plans_text(programs.training->recompute));
    for (const std::string& warning : programs.training->warnings) log_warning(warning);
  }

  std::optional<DocumentPacking> packing_of(const TokenShard* shard) const {
    if (shard == nullptr || !options.pack_documents) return std::nullopt;
    return DocumentPacking(shard->documents(), shard->tokens().size(), options.block_size);
  }

  /// What the run saved before is laid out as what it started from.
  void read_layout_of_model() {
    const bool saved = path_exists(run.model() / "config.json");
    if (!saved && !options.layout_of) return;
    layout = read_layout(saved ? run.model() : *options.layout_of, options.ignore_config_keys);
    tokenizer_from_layout = has_tokenizer(layout->folder, *data.tokenizer);
  }

  void set_initial_weights() {
    if (!options.init_from) return initialize_weights(programs, options.seed, engine);
    const FolderConfig folder = read_config(*options.init_from, options.ignore_config_keys);
    load_model_weights(*options.init_from, {options.config, folder.family}, parameter_slots(programs, engine));
    reset_optimizer(programs, engine);
  }

  void restore(const std::filesystem::path& checkpoint) {
    progress = load_checkpoint(checkpoint, parameter_slots(programs, engine), optimizer_slots(programs, engine));
    saved_step = progress.step;
    if (progress.has_validation_loss) validation_loss = progress.validation_loss;
  }

  std::int64_t tokens_per_step() const { return options.micro_batch_size * options.micro_steps * options.block_size; }

  void say(const std::string& line) {
    printer.message(line);
    log.append(line + "\n");
  }

  /// Makes checkpoint and model folder those of this step. A run killed between the two has the one without the other.
  void save() {
    const std::vector<TensorSlot> parameters = parameter_slots(programs, engine);
    if (saved_step != progress.step) {
      progress.has_validation_loss = validation_loss.has_value();
      progress.validation_loss = validation_loss.value_or(0);
      save_checkpoint(run.path(), progress, parameters, optimizer_slots(programs, engine), options.keep_last);
      saved_step = progress.step;
    }
    if (exported_step != progress.step) {
      const Tokenizer* const tokenizer = tokenizer_from_layout ? nullptr : data.tokenizer.get();
      save_model_folder(run.model(), options.config, SlotSource(parameters), {layout ? &*layout : nullptr, tokenizer, {}, {}});
      exported_step = progress.step;
    }
  }

  /// Nothing when the stop signal came first.
  std::optional<double> validate() {
    const TokenView& tokens = data.validation->tokens();
    const ValidationBatches batches = validation_rows ? ValidationBatches(*validation_rows, options.micro_batch_size)
                                                      : ValidationBatches(tokens.size(), options.block_size, options.micro_batch_size);
    return evaluate_batches(engine, batches, tokens, options);
  }

  int stop_signal() const { return options.stop_signal != nullptr ? options.stop_signal->load() : 0; }

  /// A sample, as text on lines of its own.
  void sample() {
    TextGenerator generator(engine, data.tokenizer->vocab_size());
    const std::vector<std::int32_t> prompt = sample_prompt();
    std::vector<std::int32_t> ids;
    SamplingOptions sampling;
    sampling.seed = options.seed + static_cast<std::uint64_t>(progress.step);
    generator.generate(prompt, options.sample_tokens, sampling, [&](std::int32_t id) {
      ids.push_back(id);
      return stop_signal() == 0;
    });
    say(fmt::format("sample at step {}: {}", progress.step, data.tokenizer->decode(ids)));
  }

  /// The validation text's (or training text's) first tokens.
  std::vector<std::int32_t> sample_prompt() const {
    const TokenView& tokens = data.validation ? data.validation->tokens() : data.train.tokens();
    const std::int64_t count = std::min<std::int64_t>({tokens.size(), prefill_length(options), 16});
    std::vector<std::int32_t> prompt;
    for (std::int64_t i = 0; i < count; ++i) prompt.push_back(static_cast<std::int32_t>(tokens[i]));
    return prompt;
  }

  StepResult run_step() {
    const std::int64_t step = progress.step;
    const bool probing = probe.active() && (step + 1) % options.log_interval == 0;
    if (probing) probe.before();
    const StepResult outcome = steps.run(step);
    if (!std::isfinite(outcome.loss) || !std::isfinite(outcome.grad_norm)) explain_failure(step, outcome.loss, outcome.grad_norm);
    if (probing) {
      if (const auto warning = probe.after()) say("warning: " + *warning);
    }
    progress.step = step + 1;
    progress.tokens += tokens_per_step();
    return outcome;
  }

  /// Shows the state of the run; with `keep` for good, in the log and the metrics too.
  void report(const StepResult& outcome, double ms, double seconds, bool keep, bool measured) {
    ProgressState shown;
    shown.step = progress.step;
    shown.total_steps = options.max_steps;
    shown.loss = outcome.loss;
    shown.val_loss = validation_loss;
    shown.ms = ms;
    shown.tokens_per_second = static_cast<double>(tokens_per_step()) * 1000 / ms;
    shown.memory_used_bytes = engine.predicted_peak_bytes();
    shown.seconds_left = seconds_left(progress.step, options.max_steps, ms);
    if (options.max_seconds) shown.seconds_left = std::min(*shown.seconds_left, std::max(0.0, *options.max_seconds - seconds));
    printer.show(shown, keep);
    if (!keep) return;
    log.append(format_progress(shown) + "\n");
    MetricsRow row;
    row.step = progress.step;
    row.tokens = progress.tokens;
    row.loss = outcome.loss;
    if (measured) row.val_loss = validation_loss;
    row.lr = outcome.learning_rate;
    row.grad_norm = outcome.grad_norm;
    row.ms = ms;
    row.tokens_per_second = shown.tokens_per_second;
    row.memory_used_bytes = shown.memory_used_bytes;
    metrics->write(row);
  }

  /// Goes back to the last checkpoint, runs up to the failed step again, and names the op where the value was made. The step
  /// that failed has already written its update, so the weights in memory tell nothing.
  [[noreturn]] void explain_failure(std::int64_t failed, double loss, double norm) {
    const bool of_loss = !std::isfinite(loss);
    const auto checkpoint = latest_checkpoint(run.path());
    progress = {};
    set_initial_weights();
    if (checkpoint) restore(*checkpoint);
    while (progress.step < failed) steps.run(progress.step++);
    const std::optional<NonFinite> origin = steps.run_checked(failed, of_loss);
    const std::string message =
        fmt::format("the {} of step {} is {}; {}; try a lower --learning_rate; last good checkpoint: {}",
                    of_loss ? "loss" : "gradient norm", failed + 1, std::isnan(of_loss ? loss : norm) ? "NaN" : "infinite",
                    describe(origin), checkpoint ? checkpoint->string() : "none, the run had not saved yet");
    log.append(message + "\n");
    throw UserError(message);
  }
};

Trainer::Trainer(TrainerOptions options, const RunDirectory& run, const Dataset& data, bool resume)
    : state_(std::make_unique<State>(std::move(options), run, data, resume)) {}

Trainer::~Trainer() = default;

const Engine& Trainer::engine() const { return state_->engine; }

TrainResult Trainer::run() {
  State& s = *state_;
  const TrainerOptions& options = s.options;
  const Clock::time_point start = Clock::now();
  StepTimer timer;
  TrainResult result;
  const auto due = [&](std::int64_t interval) { return interval > 0 && s.progress.step % interval == 0; };

  bool ended = s.progress.step >= options.max_steps;
  while (!ended) {
    timer.start();
    const StepResult outcome = s.run_step();
    timer.stop();
    result.trained = true;
    result.loss = outcome.loss;
    result.signal = s.stop_signal();
    const bool timed_out = options.max_seconds && seconds_since(start) >= *options.max_seconds;
    ended = s.progress.step >= options.max_steps || timed_out || result.signal != 0;

    bool measured = false;
    if (s.programs.eval && (due(options.eval_interval) || ended) && result.signal == 0) {
      const std::optional<double> loss = s.validate();
      measured = loss.has_value();
      if (measured) s.validation_loss = loss;
    }
    const bool logging = due(options.log_interval) || ended;
    s.report(outcome, timer.ms_per_step(), seconds_since(start), logging || measured, measured);
    if (s.programs.decode && due(options.sample_interval) && s.stop_signal() == 0) s.sample();
    // One that came while the loss was measured or text was written.
    result.signal = s.stop_signal();
    ended = ended || result.signal != 0;
    if (due(options.save_interval) || ended) s.save();
    if (logging) timer.reset();
  }
  s.save();
  s.printer.finish();
  if (result.signal != 0) s.say(fmt::format("interrupted after step {}; continue with: {}", s.progress.step, options.resume_command));
  result.step = s.progress.step;
  result.validation_loss = s.validation_loss;
  return result;
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// The training loop: batches into the step program, learning rate, validation, samples, checkpoints and the record of it all.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compile.h"
#include "nn/gpt_config.h"
#include "train/dataset.h"
#include "train/gpt_programs.h"
#include "train/lr_schedule.h"
#include "train/progress.h"
#include "train/run_directory.h"

namespace reprise {

struct TrainerOptions {
  GptConfig config;                    // vocabulary fitted to the tokenizer
  std::optional<std::filesystem::path> init_from;  // a model folder with the starting weights
  std::optional<std::filesystem::path> layout_of;  // a model folder whose files the run's model folder is laid out like
  std::vector<std::string> ignore_config_keys;     // of their config.json
  DType dtype = DType::float32;
  std::int64_t block_size = 0;
  std::int64_t micro_batch_size = 12;
  std::int64_t micro_steps = 1;
  bool pack_documents = false;         // rows of whole documents (document_packing.h), else windows of the text
  std::string trainable = "*";
  AdamWOptions adamw;
  LrSchedule schedule;
  std::uint64_t seed = 1337;

  std::int64_t max_steps = 0;
  std::optional<double> max_seconds;   // stops after this time, counted from the start of this process's run
  std::int64_t eval_interval = 250;    // steps between; 0: never
  std::int64_t eval_batches = 0;       // validation batches measured, spread evenly; 0: all
  std::int64_t sample_interval = 0;
  std::int64_t sample_tokens = 200;
  std::int64_t save_interval = 500;    // 0: only at the end
  std::int64_t keep_last = 2;
  std::int64_t log_interval = 10;

  CompileOptions compile;
  std::string resume_command;          // printed when the run is interrupted
  std::function<void(std::string_view)> out;      // text for a person; nothing: silent
  TerminalStyle style;
  const std::atomic<int>* stop_signal = nullptr;  // set to a signal's number by a handler of the caller
};

struct TrainResult {
  std::int64_t step = 0;
  bool trained = false;                     // false: the run had ended before
  double loss = 0;                          // of the last step
  std::optional<double> validation_loss;    // the last measured
  int signal = 0;                           // what interrupted the run; 0: it ended
};

class Trainer {
 public:
  /// Compiles the programs, takes the memory, and sets the weights: fresh, of `init_from`, or with `resume` of the run's
  /// latest checkpoint (fresh when it has none yet). UserError when something does not fit.
  Trainer(TrainerOptions options, const RunDirectory& run, const Dataset& data, bool resume);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Trains to the end, or until the stop signal, and leaves a checkpoint and the model folder. UserError when the loss or
  /// the gradient stops being finite, naming the op where it began; the last checkpoint is then intact.
  TrainResult run();

  const Engine& engine() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise

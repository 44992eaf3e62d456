// SPDX-License-Identifier: Apache-2.0
// Whole runs of a tiny model: they learn, resume to the same bits, do not depend on threads, and stop well.
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <atomic>
#include <csignal>
#include <string>
#include <vector>

#include "base/log.h"
#include "executor/loops/executor.h"
#include "executor/onednn/executor.h"
#include "executor/reference_executor.h"
#include "io/file_write.h"
#include "io/write_fault.h"
#include "nn/gpt.h"
#include "support/compress.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "train/batch_sampler.h"
#include "train/gpt_programs.h"
#include "train/step_runner.h"

namespace reprise {
namespace {

std::string text_of(int sentences) {
  constexpr const char* kSubjects[] = {"the cat", "a dog", "one bird", "my friend", "the old man"};
  constexpr const char* kVerbs[] = {"sees", "hears", "likes", "finds"};
  std::string text;
  for (int i = 0; i < sentences; ++i) {
    text += std::string(kSubjects[i * 7 % 5]) + " " + kVerbs[i * 3 % 4] + " " + kSubjects[i * 11 % 5] + ".\n";
  }
  return text;
}

GptConfig tiny_config(std::int64_t vocabulary) {
  GptConfig config = named_config("baby-gpt");
  config.n_layer = 2;
  config.n_head = config.n_query_groups = 2;
  config.n_embd = 32;
  config.head_size = 16;
  config.intermediate_size = 128;
  config.block_size = 32;
  fit_vocabulary(config, vocabulary);
  return config;
}

class TrainerTest : public ::testing::Test {
 protected:
  test::TemporaryDirectory folder_;
  int runs_ = 0;

  void SetUp() override { write_text_file(folder_.path() / "text.txt", text_of(200)); }

  TrainerOptions options(const Dataset& data, std::int64_t steps = 12) {
    TrainerOptions o;
    o.config = tiny_config(data.tokenizer->vocab_size());
    o.block_size = 32;
    o.micro_batch_size = 4;
    o.adamw.max_norm = 1;
    o.schedule = {.kind = ScheduleKind::cosine, .peak = 1e-2, .min_rate = 1e-3, .warmup_steps = 2, .total_steps = 12};
    o.max_steps = steps;
    o.eval_interval = 6;
    o.save_interval = 5;
    o.log_interval = 2;
    o.compile = host_options({&onednn_executor(), &loops_executor(), &reference_executor()}, 1);
    o.resume_command = "reprise train --resume RUN";
    return o;
  }

  RunDirectory new_run() { return RunDirectory::create(folder_.path() / ("run" + std::to_string(runs_++)), "seed = 1\n", false); }

  DatasetOptions data_options_ = [this] {
    DatasetOptions o;
    o.paths = {(folder_.path() / "text.txt").string()};
    o.block_size = 32;
    return o;
  }();

  Dataset dataset(const RunDirectory& run) { return build_dataset(run.data(), data_options_); }

  static std::string weights(const RunDirectory& run) {
    return read_text_file(*latest_checkpoint(run.path()) / "model.safetensors") +
           read_text_file(*latest_checkpoint(run.path()) / "optimizer.safetensors");
  }

  /// Trains in one go; returns the final weights and moments as bytes.
  template <class Change>
  std::string trained(const Change& change) {
    const RunDirectory run = new_run();
    const Dataset data = dataset(run);
    TrainerOptions o = options(data);
    change(o);
    Trainer(std::move(o), run, data, false).run();
    return weights(run);
  }

  /// Trains to step 7, then resumes in a new trainer.
  template <class Change>
  std::string trained_in_two(const Change& change) {
    const RunDirectory run = new_run();
    {
      const Dataset data = dataset(run);
      TrainerOptions o = options(data, 7);
      change(o);
      o.max_steps = 7;
      Trainer(std::move(o), run, data, false).run();
    }
    const Dataset data = open_dataset(run.data(), data_options_);
    TrainerOptions o = options(data);
    change(o);
    Trainer(std::move(o), run, data, true).run();
    return weights(run);
  }
};

const auto kNothing = [](TrainerOptions&) {};

TEST_F(TrainerTest, LearnsAndLeavesARun) {
  const RunDirectory run = new_run();
  const Dataset data = dataset(run);
  TrainerOptions o = options(data, 60);
  o.schedule.total_steps = 60;
  o.sample_interval = 30;
  o.sample_tokens = 40;
  std::string shown;
  o.out = [&](std::string_view text) { shown += text; };
  const TrainResult result = Trainer(std::move(o), run, data, false).run();
  EXPECT_EQ(result.step, 60);
  EXPECT_LT(result.loss, 2.0);  // the text's characters alone have an entropy above 2.8
  ASSERT_TRUE(result.validation_loss.has_value());
  EXPECT_LT(*result.validation_loss, 2.2);
  for (const char* name : {"latest/state.json", "model/config.json", "model/model.safetensors", "model/tokenizer.json", "metrics.jsonl",
                           "plan.txt", "log.txt"}) {
    EXPECT_TRUE(std::filesystem::exists(run.path() / name)) << name;
  }
  EXPECT_NE(shown.find("step 60/60"), std::string::npos) << shown;
  EXPECT_NE(shown.find("sample at step 30: "), std::string::npos);
}

TEST_F(TrainerTest, ResumesToTheSameBits) { EXPECT_EQ(trained(kNothing), trained_in_two(kNothing)); }

/// Questions of random letters, all with the same answer.
std::string questions(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    std::string prompt;
    for (int c = 0; c < 5 + i % 7; ++c) prompt += static_cast<char>('a' + (i * 7919 + c * 104'729 + i * c * 31) % 26);
    lines += "{\"prompt\": \"" + prompt + "\", \"completion\": \"=yes\"}\n";
  }
  return lines;
}

TEST_F(TrainerTest, EverySourceResumesToTheSameBits) {
  write_text_file(folder_.path() / "tokenizer.json", learn_tokenizer("bpe:300", std::vector<std::string_view>{text_of(200)})->to_json());
  test::put_file(folder_.path() / "lines.jsonl.zst", test::zstd_of(questions(300)));
  test::put_file(folder_.path() / "text.gz", test::gzip_of(text_of(200)));
  std::string tokens;
  for (int i = 0; i < 4000; ++i) tokens += {static_cast<char>(i * 7 % 251), '\0'};
  test::put_file(folder_.path() / "tokens.bin", tokens);
  for (const bool packed : {false, true}) {
    for (const char* name : {"lines.jsonl.zst", "text.gz", "tokens.bin"}) {
      SCOPED_TRACE(std::string(name) + (packed ? " packed" : ""));
      data_options_.paths = {(folder_.path() / name).string()};
      data_options_.tokenizer = (folder_.path() / "tokenizer.json").string();
      data_options_.format = std::string_view(name) == "tokens.bin" ? DataFormat::nanogpt : DataFormat::automatic;
      const auto change = [packed](TrainerOptions& o) {
        o.pack_documents = packed;
        o.micro_steps = 2;
        o.micro_batch_size = 2;
      };
      EXPECT_EQ(trained(change), trained_in_two(change));
    }
  }
}

TEST_F(TrainerTest, OnlyTargetsAreLearned) {
  test::put_file(folder_.path() / "lines.jsonl", questions(400));
  data_options_.paths = {(folder_.path() / "lines.jsonl").string()};
  for (const bool packed : {false, true}) {
    const RunDirectory run = new_run();
    const Dataset data = dataset(run);
    TrainerOptions o = options(data, 60);
    o.schedule.total_steps = 60;
    o.pack_documents = packed;
    const TrainResult result = Trainer(std::move(o), run, data, false).run();
    // Of "=yes" all but the first letter follows from the one before it. The letters of the questions have 3.2 nats each.
    EXPECT_LT(*result.validation_loss, 1.0) << packed;
  }
}

TEST_F(TrainerTest, ResumingAFinishedRunMakesUpForItsModelFolder) {
  const RunDirectory run = new_run();
  const Dataset data = dataset(run);
  Trainer(options(data), run, data, false).run();
  const std::string model = read_text_file(run.model() / "model.safetensors");
  std::filesystem::remove_all(run.model());  // as when the run was killed after its last checkpoint
  Trainer(options(data), run, data, true).run();
  EXPECT_EQ(read_text_file(run.model() / "model.safetensors"), model);
}

TEST_F(TrainerTest, ResumesToTheSameBitsWithDropoutAndAccumulation) {
  const auto change = [](TrainerOptions& o) {
    o.config.set_dropout(0.2);
    o.micro_steps = 3;
    o.micro_batch_size = 2;
  };
  EXPECT_EQ(trained(change), trained_in_two(change));
}

TEST_F(TrainerTest, ThreadsChangeNoBit) {
  const auto two = [](TrainerOptions& o) { o.compile.threads = 2; };
  EXPECT_EQ(trained(kNothing), trained(two));
}

TEST_F(TrainerTest, Bfloat16ResumesToTheSameBits) {
  for (const bool master : {false, true}) {
    const auto change = [&](TrainerOptions& o) {
      o.dtype = DType::bfloat16;
      o.adamw.master_weights = master;
      o.adamw.rounding = Rounding::stochastic;
    };
    EXPECT_EQ(trained(change), trained_in_two(change)) << master;
  }
}

TEST_F(TrainerTest, RoundingToNearestWarnsOfLostUpdates) {
  std::string shown;
  trained([&](TrainerOptions& o) {
    o.dtype = DType::bfloat16;
    o.adamw.rounding = Rounding::nearest;
    o.schedule.peak = 1e-5;
    o.schedule.min_rate = 1e-6;
    o.out = [&](std::string_view text) { shown += text; };
  });
  EXPECT_NE(shown.find("rounded to nothing; use --rounding stochastic"), std::string::npos) << shown;
}

TEST_F(TrainerTest, ALossThatIsNotFiniteStopsAndNamesTheOp) {
  const RunDirectory run = new_run();
  const Dataset data = dataset(run);
  TrainerOptions o = options(data);
  o.adamw.max_norm = 0;
  o.adamw.eps = 0;
  o.schedule = {.kind = ScheduleKind::constant, .peak = 1e38, .min_rate = 0, .warmup_steps = 5};
  o.save_interval = 1;
  EXPECT_USER_ERROR(Trainer(std::move(o), run, data, false).run(), "was first made by op ");
  const std::string kept = "last good checkpoint: " + latest_checkpoint(run.path())->string();
  EXPECT_NE(read_text_file(run.path() / "log.txt").find(kept), std::string::npos);
}

TEST_F(TrainerTest, AStopSignalLeavesACheckpoint) {
  const RunDirectory run = new_run();
  const Dataset data = dataset(run);
  TrainerOptions o = options(data);
  std::atomic<int> signal = SIGTERM;
  o.stop_signal = &signal;
  std::string shown;
  o.out = [&](std::string_view text) { shown += text; };
  const TrainResult result = Trainer(std::move(o), run, data, false).run();
  EXPECT_EQ(result.signal, SIGTERM);
  EXPECT_EQ(latest_checkpoint(run.path())->filename(), "step-1");
  EXPECT_NE(shown.find("continue with: reprise train --resume RUN"), std::string::npos);
}

TEST_F(TrainerTest, AStopSignalWhileTheLossIsReportedStopsAtThatStep) {
  const RunDirectory run = new_run();
  const Dataset data = dataset(run);
  TrainerOptions o = options(data);
  std::atomic<int> signal = 0;
  o.stop_signal = &signal;
  o.log_interval = 1;
  o.out = [&](std::string_view text) {
    if (text.find("3/12") != std::string_view::npos) signal = SIGINT;
  };
  EXPECT_EQ(Trainer(std::move(o), run, data, false).run().signal, SIGINT);
  EXPECT_EQ(latest_checkpoint(run.path())->filename(), "step-3");
}

TEST_F(TrainerTest, AStopSignalEndsAValidation) {
  const RunDirectory run = new_run();
  const Dataset data = dataset(run);
  TrainerOptions o = options(data);
  GptProgramOptions request;
  request.config = o.config;
  request.block_size = o.block_size;
  request.train = false;
  request.evaluate = true;
  const GptPrograms programs = compile_gpt(request, o.compile);
  Engine engine(programs.list(), engine_options(o.compile));
  load_tables(programs, engine);
  initialize_weights(programs, o.seed, engine);
  const ValidationBatches batches(data.validation->tokens().size(), o.block_size, 1);
  EXPECT_TRUE(evaluate_batches(engine, batches, data.validation->tokens(), o).has_value());
  const std::atomic<int> signal = SIGTERM;
  o.stop_signal = &signal;
  EXPECT_FALSE(evaluate_batches(engine, batches, data.validation->tokens(), o).has_value());
}

TEST_F(TrainerTest, ACheckpointThatIsNotCompleteIsPassedOver) {
  const RunDirectory run = new_run();
  const Dataset data = dataset(run);
  Trainer(options(data), run, data, false).run();
  const std::string end = weights(run);
  std::filesystem::remove(run.path() / "step-12" / "state.json");
  std::vector<std::string> warnings;
  const LogCallback before = set_log_callback([&](LogLevel, const std::string& message) { warnings.push_back(message); });
  Trainer(options(data), run, data, true).run();
  set_log_callback(before);
  EXPECT_EQ(warnings, std::vector<std::string>{"the checkpoint step-12 is not complete; going on from step-10"});
  EXPECT_EQ(weights(run), end);
}

TEST_F(TrainerTest, AFullDiskKeepsTheLastCheckpoint) {
  const RunDirectory run = new_run();
  const Dataset data = dataset(run);
  {
    TrainerOptions o = options(data, 5);
    Trainer(std::move(o), run, data, false).run();
  }
  TrainerOptions o = options(data);
  Trainer trainer(std::move(o), run, data, true);
  const ScopedWriteFault fault(fail_after_bytes(20000, ENOSPC));
  EXPECT_USER_ERROR(trainer.run(), "no space left on device");
  EXPECT_EQ(latest_checkpoint(run.path())->filename(), "step-5");
}

TEST_F(TrainerTest, FrozenParametersStay) {
  const RunDirectory run = new_run();
  const Dataset data = dataset(run);
  TrainerOptions o = options(data, 3);
  o.trainable = "*.mlp.*";
  const GptConfig config = o.config;
  const std::uint64_t seed = o.seed;
  Trainer trainer(std::move(o), run, data, false);
  trainer.run();
  for (const NamedParameter& parameter : Gpt(config).parameters()) {
    const std::span<const std::byte> now = trainer.engine().bytes(parameter.name);
    std::vector<std::byte> fresh(now.size());
    initialize(parameter, seed, DType::float32, fresh);
    const bool moved = !std::equal(now.begin(), now.end(), fresh.begin());
    EXPECT_EQ(moved, parameter.name.find(".mlp.") != std::string::npos) << parameter.name;
  }
}

TEST_F(TrainerTest, TooLittleMemoryIsRefused) {
  const RunDirectory run = new_run();
  const Dataset data = dataset(run);
  TrainerOptions wide = options(data);  // no batch is small enough
  wide.config.n_embd = 1 << 14;
  wide.config.head_size = 1 << 13;
  wide.config.intermediate_size = 1 << 16;
  wide.config.n_layer = 24;
  EXPECT_USER_ERROR(Trainer(std::move(wide), run, data, false), "not enough memory for training (parameters and moments alone): ");
  TrainerOptions many = options(data);  // a smaller one is
  many.micro_batch_size = 1 << 24;
  TrainerOptions endless = options(data);  // no tensor holds so much
  endless.micro_batch_size = std::int64_t{1} << 50;
  EXPECT_USER_ERROR(Trainer(std::move(endless), run, data, false), "is too large for any memory; give smaller sizes");
  EXPECT_USER_ERROR(Trainer(std::move(many), run, data, false), "the same command with --micro_batch_size ");
}

TEST_F(TrainerTest, RunFoldersAreNotReplacedByAccident) {
  const RunDirectory run = new_run();
  EXPECT_USER_ERROR(RunDirectory::create(run.path(), "", false), "continue it with --resume");
  EXPECT_USER_ERROR(RunDirectory::create(run.path(), "", true), "in use");
  EXPECT_USER_ERROR(RunDirectory::open(folder_.path()), "no run to resume here");
  EXPECT_USER_ERROR(RunDirectory::create(folder_.path(), "", true), "no run of reprise");
}

}  // namespace
}  // namespace reprise

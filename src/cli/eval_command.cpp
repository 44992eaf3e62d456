// SPDX-License-Identifier: Apache-2.0
// `reprise eval`: a model's loss, perplexity and bits per byte on text.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/execution.h"
#include "cli/model_source.h"
#include "cli/standard_streams.h"
#include "cli/units.h"
#include "io/file_write.h"
#include "io/json.h"
#include "io/path_query.h"
#include "nn/gpt_config_json.h"
#include "runtime/arena.h"
#include "tokenizer/tokenizer.h"
#include "train/checkpoint.h"
#include "train/data_files.h"
#include "train/evaluation.h"
#include "train/gpt_programs.h"
#include "train/model_folder.h"
#include "train/run_directory.h"
#include "train/text_source.h"
#include "train/token_file.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kTokensAtOnce = 2048;
constexpr double kReportSeconds = 10;

/// A model with weights: a folder, or a checkpoint and the folder that describes its model.
struct WeightedModel {
  fs::path folder;
  std::optional<fs::path> checkpoint;
  FolderConfig config;
};

WeightedModel find_weighted_model(const std::string& text, std::span<const std::string> ignored) {
  if (!is_checkpoint(text)) {
    const fs::path folder = find_model_folder(text);
    return {folder, std::nullopt, read_config(folder, ignored)};
  }
  const fs::path run = resolved_path(text).parent_path();
  if (!is_folder(run / "model")) {
    throw UserError(
        fmt::format("the run of the checkpoint has no model folder, which holds configuration and tokenizer; let it reach its end or its "
                    "next checkpoint: {}",
                    run.string()));
  }
  return {run / "model", fs::path(text), read_config(run / "model", ignored)};
}

/// `most_tokens`: the data holds no more; nothing when that is not known. Rows and windows are no larger than it can fill.
GptProgramOptions program_options(const ResolvedOptions& options, const GptConfig& config, std::optional<std::uint64_t> most_tokens) {
  constexpr std::uint64_t kStep = 16;
  std::int64_t at_once = kTokensAtOnce;
  std::int64_t window = config.block_size;
  if (most_tokens && *most_tokens < static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / 2) {
    const auto filled = static_cast<std::int64_t>((*most_tokens / kStep + 1) * kStep);
    at_once = std::min(at_once, filled);
    window = std::min(window, filled);
  }
  GptProgramOptions programs;
  programs.config = config;
  programs.dtype = dtype_option(options);
  programs.block_size = options.has("block_size") ? options.get_int("block_size") : window;
  if (programs.block_size > config.block_size) {
    throw UserError(fmt::format("block_size must be at most the model's, {}, not {}", config.block_size, programs.block_size));
  }
  programs.micro_batch_size = options.has("micro_batch_size") ? options.get_int("micro_batch_size")
                                                              : std::max<std::int64_t>(1, at_once / programs.block_size);
  programs.train = false;
  programs.evaluate = true;
  programs.packed = true;
  programs.token_losses = true;
  return programs;
}

/// A smaller evaluation that fits: fewer rows, then shorter ones; empty when none does.
std::string smaller_command(const ResolvedOptions& options, GptProgramOptions programs, const CompileOptions& compile,
                            std::uint64_t available) {
  constexpr std::int64_t kLeastBlock = 16;
  while (static_cast<std::uint64_t>(least_bytes(programs)) <= available &&
         (programs.micro_batch_size > 1 || programs.block_size / 2 >= kLeastBlock)) {
    std::int64_t& size = programs.micro_batch_size > 1 ? programs.micro_batch_size : programs.block_size;
    size /= 2;
    if (!programs_fit(programs, compile, available)) continue;
    return fmt::format("reprise eval {} --data ... --micro_batch_size {} --block_size {}", options.get_text("model"),
                       programs.micro_batch_size, programs.block_size);
  }
  return "";
}

/// The compiled programs and their engine, with the model's weights.
struct LoadedModel {
  GptPrograms programs;
  std::unique_ptr<Engine> engine;
};

LoadedModel load(const ResolvedOptions& options, const WeightedModel& model, const GptProgramOptions& request) {
  const CompileOptions compile = compile_options(options);
  const std::uint64_t available = available_memory_bytes();
  const std::int64_t least = least_bytes(request);
  if (static_cast<std::uint64_t>(least) > available) require_memory(least, available, "evaluation (parameters alone)", "");
  LoadedModel loaded{compile_gpt(request, compile), nullptr};
  EngineOptions engine = engine_options(compile, "evaluation");
  engine.available_bytes = available;
  if (static_cast<std::uint64_t>(lay_out_engine(loaded.programs.list()).peak_bytes()) > available) {
    engine.suggestion = smaller_command(options, request, compile, available);
  }
  loaded.engine = std::make_unique<Engine>(loaded.programs.list(), engine);
  load_tables(loaded.programs, *loaded.engine);
  const std::vector<TensorSlot> slots = parameter_slots(loaded.programs, *loaded.engine);
  if (model.checkpoint) {
    load_parameters(*model.checkpoint, slots);
  } else {
    load_model_weights(model.folder, model.config, slots);
  }
  return loaded;
}

/// What stands before a document's first token, so that it can be scored.
std::vector<std::int32_t> context_of(const Tokenizer& tokenizer) {
  if (!tokenizer.frame().before.empty()) return tokenizer.frame().before;
  if (const auto end = tokenizer.end_of_text()) return {*end};
  return {};
}

std::int64_t bytes_of(const Tokenizer& tokenizer, std::int32_t id) {
  return static_cast<std::int64_t>(tokenizer.decode(std::span(&id, 1)).size());
}

/// Scores every document of the files.
class Reader {
 public:
  Reader(const Tokenizer& tokenizer, DocumentScorer& scorer, bool mask_prompt)
      : tokenizer_(tokenizer), scorer_(scorer), context_(context_of(tokenizer)), mask_prompt_(mask_prompt) {}

  void text(const Document& document) {
    scorer_.begin(std::string(document.path), document.line);
    scorer_.add(context_, false);
    std::int64_t bytes = 0;
    bool first = context_.empty();
    const auto encode = [&](std::string_view part, bool scored) {
      if (scored) bytes += static_cast<std::int64_t>(part.size());
      tokenizer_.encode_to(part, [&](std::span<const std::int32_t> ids) {
        if (first && !ids.empty()) {
          if (scored) bytes -= bytes_of(tokenizer_, ids.front());
          first = false;
        }
        scorer_.add(ids, scored);
      });
    };
    if (!document.prompt.empty()) encode(document.prompt, !mask_prompt_);
    encode(document.text, true);
    scorer_.end(bytes);
  }

  /// Documents lie between ends of text, which are not scored.
  void tokens(const DataFile& file, const TokenView& all) {
    const std::optional<std::int32_t> end = tokenizer_.end_of_text();
    bool open = false;
    std::int64_t bytes = 0;
    StreamDecoder decoder(tokenizer_);
    const auto end_document = [&] {
      if (open) scorer_.end(bytes + static_cast<std::int64_t>(decoder.finish().size()));
      open = false;
    };
    for (std::int64_t i = 0; i < all.size(); ++i) {
      const std::int64_t token = all[i];
      if (token >= tokenizer_.vocab_size()) {
        throw UserError(fmt::format("{}: token {} is {}, but the tokenizer has {} tokens; give the tokenizer that the file was made with",
                                    file.path, i, token, tokenizer_.vocab_size()));
      }
      const auto id = static_cast<std::int32_t>(token);
      if (id == end) {
        end_document();
        continue;
      }
      if (!open) {
        scorer_.begin(file.path, 0);
        scorer_.add(context_, false);
        bytes = context_.empty() ? -bytes_of(tokenizer_, id) : 0;
        open = true;
      }
      bytes += static_cast<std::int64_t>(decoder.push(id).size());
      scorer_.add(std::span(&id, 1), true);
    }
    end_document();
  }

 private:
  const Tokenizer& tokenizer_;
  DocumentScorer& scorer_;
  std::vector<std::int32_t> context_;
  bool mask_prompt_;
};

/// A number, or null where there is none.
Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

void add_figures(Json& json, const DocumentScore& score) {
  json.set("tokens", score.tokens);
  json.set("bytes", score.bytes);
  json.set("loss", number_or_null(score.loss()));
  json.set("perplexity", number_or_null(score.perplexity()));
  json.set("bits_per_byte", number_or_null(score.bits_per_byte()));
}

std::string document_line(std::int64_t index, const DocumentScore& score) {
  Json json = Json::object({{"document", index}, {"path", score.path}});
  if (score.line > 0) json.set("line", score.line);
  add_figures(json, score);
  return write_json(json) + "\n";
}

std::optional<fs::path> output_path(const ResolvedOptions& options, std::string_view name) {
  return options.has(name) ? std::optional<fs::path>(options.get_text(name)) : std::nullopt;
}

std::string summary(const DocumentScore& total, std::int64_t documents) {
  return fmt::format("loss {:.4f}  perplexity {:.4f}  bits per byte {:.4f}\n{} tokens, {} bytes, {} document{}\n", total.loss(),
                     total.perplexity(), total.bits_per_byte(), total.tokens, total.bytes, documents, documents == 1 ? "" : "s");
}

/// Totals of an evaluation, written out as they come.
struct Totals {
  DocumentScore score;
  std::int64_t documents = 0;
};

}  // namespace

int run_eval(const ResolvedOptions& options) {
  const WeightedModel model = find_weighted_model(options.get_text("model"), ignored_config_keys(options));
  const std::unique_ptr<Tokenizer> tokenizer =
      load_tokenizer(options.has("tokenizer") ? fs::path(options.get_text("tokenizer")) : model.folder);
  if (tokenizer->vocab_size() > model.config.config.padded_vocab_size) {
    throw UserError(fmt::format("{}: the tokenizer has more tokens than the model; take the one the model was trained with: {} and {}",
                                model.folder.string(), tokenizer->vocab_size(), model.config.config.padded_vocab_size));
  }
  const DataFiles files = find_data_files(options.get_list("data"), *parse_data_format(options.get_text("data_format")));
  for (const std::string& skipped : files.skipped) log_warning(skipped);
  const GptProgramOptions request = program_options(options, model.config.config, plain_bytes(files));
  ScoringOptions scoring{request.block_size, options.has("stride") ? options.get_int("stride") : request.block_size,
                         request.micro_batch_size};
  if (scoring.stride > scoring.block_size) {
    throw UserError(
        fmt::format("stride must be at most block_size, {}, so that no token is left out, not {}", scoring.block_size, scoring.stride));
  }
  OutputFile json(output_path(options, "json"));
  OutputFile per_document(output_path(options, "per_document"));

  const LoadedModel loaded = load(options, model, request);
  Totals totals;
  const auto began = Clock::now();
  auto reported = began;
  const auto seconds_since = [](Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const bool quiet = options.get_flag("quiet");
  DocumentScorer scorer(*loaded.engine, scoring, [&](const DocumentScore& score) {
    per_document.write(document_line(totals.documents++, score));
    totals.score.add(score);
    if (quiet || seconds_since(reported) < kReportSeconds) return;
    reported = Clock::now();
    print_error(fmt::format("{} documents, {} tokens, loss {:.4f} so far\n", totals.documents, format_count(totals.score.tokens),
                            totals.score.loss()));
  });
  Reader reader(*tokenizer, scorer, options.get_flag("mask_prompt"));
  if (files.tokens()) {
    for (const DataFile& file : files.files) reader.tokens(file, TokenFile::open(file, {}).tokens());
  } else {
    TextOptions text;
    if (options.has("text_field")) text.text_field = options.get_text("text_field");
    TextSource source(files.files, text);
    source.read([&](const Document& document) {
      try {
        reader.text(document);
      } catch (const UserError& error) {
        throw UserError(fmt::format("{}: {}", document.where(), error.what()));
      }
    });
    for (const std::string& warning : source.warnings()) log_warning(warning);
  }
  scorer.finish();
  const double seconds = seconds_since(began);

  if (totals.score.tokens == 0) throw UserError("no token could be scored: every document is shorter than two tokens; give more text");
  per_document.commit();
  Json figures = Json::object({{"schema_version", 1}, {"model", options.get_text("model")}, {"dtype", options.get_text("dtype")},
                               {"block_size", scoring.block_size}, {"stride", scoring.stride}, {"documents", totals.documents}});
  add_figures(figures, totals.score);
  json.write(write_json(figures, 2) + "\n");
  json.commit();
  const auto is_output = [&](std::string_view name) { return options.has(name) && options.get_text(name) == "-"; };
  const std::string text = summary(totals.score, totals.documents);
  if (is_output("json") || is_output("per_document")) {
    print_error(text);
  } else {
    print_output(text);
  }
  if (!quiet) {
    print_error(fmt::format("{:.1f} s, {:.0f} tokens/s\n", seconds, static_cast<double>(totals.score.tokens) / std::max(seconds, 1e-9)));
  }
  if (std::isfinite(totals.score.loss())) return 0;
  print_error("reprise: the loss is not a number: the weights, or their values in this dtype, are not finite\n");
  return kExitNo;
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// `reprise generate`: a model folder and its tokenizer to text, as it is written.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/execution.h"
#include "cli/model_source.h"
#include "cli/standard_streams.h"
#include "nn/gpt_config_json.h"
#include "reprise/error.h"
#include "tokenizer/tokenizer.h"
#include "train/gpt_programs.h"
#include "train/model_folder.h"
#include "train/text_generator.h"

namespace reprise {
namespace {

/// Sizes of the two passes: room for all the text, or the whole window when it is longer, which then moves by halves.
void size_passes(GptProgramOptions& programs, std::int64_t prompt, std::int64_t count) {
  const std::int64_t block = programs.config.block_size;
  programs.cache_length = std::min(block, prompt + count);
  programs.prefill_length = prompt + count <= block ? prompt : std::max(std::min(prompt, block), (block + 1) / 2);
}

}  // namespace

int run_generate(const ResolvedOptions& options) {
  const std::filesystem::path folder = find_model_folder(options.get_text("model"));
  const FolderConfig model = read_config(folder, ignored_config_keys(options));
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(folder);
  if (tokenizer->vocab_size() > model.config.padded_vocab_size) {
    throw UserError(fmt::format("{}: the tokenizer has more tokens than the model; take the one the model was trained with: {} and {}",
                                folder.string(), tokenizer->vocab_size(), model.config.padded_vocab_size));
  }
  const std::string prompt = options.has("prompt") ? options.get_text("prompt") : "";
  const std::vector<std::int32_t> start = prompt_tokens(*tokenizer, prompt);
  const std::int64_t count = options.get_int("max_new_tokens");

  GptProgramOptions request;
  request.config = model.config;
  request.train = false;
  request.generate = true;
  size_passes(request, static_cast<std::int64_t>(start.size()), count);
  const CompileOptions compile = compile_options(options);
  const GptPrograms programs = compile_gpt(request, compile);
  Engine engine(programs.list(), engine_options(compile, "generation"));
  load_tables(programs, engine);
  load_model_weights(folder, model, parameter_slots(programs, engine));

  SamplingOptions sampling;
  sampling.temperature = options.get_number("temperature");
  sampling.top_k = options.get_int("top_k");
  sampling.top_p = options.get_number("top_p");
  sampling.seed = static_cast<std::uint64_t>(options.get_int("seed"));

  const bool stream = options.get_flag("stream");
  StreamDecoder decoder(*tokenizer);
  std::string text = prompt;
  std::int64_t written = 0;
  if (stream) print_output(prompt);
  const auto began = std::chrono::steady_clock::now();
  TextGenerator(engine, tokenizer->vocab_size()).generate(start, count, sampling, [&](std::int32_t token) {
    if (token == tokenizer->end_of_text()) return false;
    ++written;
    const std::string piece = decoder.push(token);
    if (stream) print_output(piece);
    else text += piece;
    return true;
  });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (!stream) print_output(text);
  print_output(decoder.finish() + "\n");
  if (!options.get_flag("quiet")) {
    print_error(
        fmt::format("{} tokens in {:.2f} s, {:.0f} tokens/s\n", written, seconds, static_cast<double>(written) / std::max(seconds, 1e-9)));
  }
  return 0;
}

}  // namespace reprise

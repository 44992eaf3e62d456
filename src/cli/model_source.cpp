// SPDX-License-Identifier: Apache-2.0
#include "cli/model_source.h"

#include <fmt/format.h>

#include "io/directory.h"
#include "io/gguf.h"
#include "io/path_query.h"
#include "io/toml.h"
#include "nn/gpt_config_json.h"
#include "nn/safetensors_source.h"
#include "options/option_table.h"
#include "options/resolve.h"
#include "reprise/error.h"
#include "train/run_directory.h"

namespace reprise {
namespace {

/// A file of options of `train`: its model and the options that shape it count.
ModelSource model_of_toml(const std::string& file) {
  const std::vector<std::string> words{"--config", file, "--print_config"};
  const ResolvedOptions options = resolve_options(Command::train, words);
  const std::string& model = options.get_text("model");
  if (model.ends_with(".toml")) throw UserError(fmt::format("{}: model must be a name or a folder, not another file: {}", file, model));
  ModelSource source = find_model(model, ignored_config_keys(options));
  apply_size_options(options, source.config);
  if (options.given("dropout")) source.config.set_dropout(options.get_number("dropout"));
  return source;
}

/// The GGUF file in a folder, if there is one. UserError when there are several.
std::optional<std::filesystem::path> gguf_in(const std::filesystem::path& folder) {
  std::optional<std::filesystem::path> found;
  for (const std::string& name : list_directory(folder)) {
    if (!is_gguf(name)) continue;
    if (found) {
      throw UserError(
          fmt::format("the folder holds several GGUF files; give one of them: {} and {}", found->string(), (folder / name).string()));
    }
    found = folder / name;
  }
  return found;
}

}  // namespace

std::filesystem::path find_model_folder(const std::string& text) {
  const std::filesystem::path path(text);
  if (is_run(path)) {
    if (is_folder(path / "model")) return path / "model";
    throw UserError(fmt::format("the run has saved no model yet; wait for its first checkpoint: {}", text));
  }
  if (is_gguf(path) && is_plain_file(path)) return path;
  if (!is_folder(path)) throw UserError(fmt::format("there is no such folder; give a run or a model folder: {}", text));
  if (!path_exists(path / "config.json")) return gguf_in(path).value_or(path);
  return path;
}

std::vector<std::string> ignored_config_keys(const ResolvedOptions& options) {
  return options.has("ignore_config_keys") ? options.get_list("ignore_config_keys") : std::vector<std::string>();
}

ModelSource find_model(const std::string& text, std::span<const std::string> ignored) {
  if (text.ends_with(".toml")) return model_of_toml(text);
  std::error_code unknown;  // a name is no less a name where the current folder may not be looked into
  if (std::filesystem::is_directory(text, unknown) || is_gguf(text) || text.find('/') != std::string::npos) {
    const std::filesystem::path folder = find_model_folder(text);
    ModelSource source{read_config(folder, ignored).config, std::nullopt};
    if (is_gguf(folder) || has_weights(folder)) source.folder = folder;
    return source;
  }
  return {named_config(text), std::nullopt};
}

void apply_size_options(const ResolvedOptions& options, GptConfig& config) {
  const auto given = [&](std::string_view name) {
    return options.has(name) ? std::optional(options.get_int(name)) : std::nullopt;
  };
  override_size(config, given("n_layers"), given("block_size"));
}

}  // namespace reprise

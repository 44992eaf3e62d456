// SPDX-License-Identifier: Apache-2.0
// `reprise export`: a run, one of its checkpoints, or a model folder to a Hugging Face folder.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/model_source.h"
#include "cli/standard_streams.h"
#include "cli/units.h"
#include "io/directory.h"
#include "io/gguf.h"
#include "io/path_query.h"
#include "nn/gpt.h"
#include "nn/safetensors_source.h"
#include "train/checkpoint.h"
#include "train/model_folder.h"
#include "train/run_directory.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

/// What to export: the folder that says what the model is, and the checkpoint with the weights, if not the folder itself.
struct Request {
  fs::path folder;
  std::optional<fs::path> checkpoint;
};

Request find_request(const std::string& text) {
  const fs::path path = fs::path(text).has_filename() ? fs::path(text) : fs::path(text).parent_path();
  const bool is_checkpoint = path_exists(path / "state.json") && is_run(path.parent_path());
  if (is_checkpoint) return {find_model_folder(path.parent_path().string()), path};
  const fs::path folder = find_model_folder(text);
  if (is_gguf(folder)) {
    throw UserError(fmt::format(
        "a GGUF file cannot be exported yet; a run that starts from it (--init_from) saves its model as a folder: {}", folder.string()));
  }
  return {folder, is_run(path) ? latest_checkpoint(path) : std::nullopt};
}

/// Only a model folder is ever replaced.
void check_out(const fs::path& out, bool overwrite) {
  if (!path_exists(out)) return;
  if (!is_folder(out)) throw UserError(fmt::format("out is a file; choose another folder: {}", out.string()));
  if (list_directory(out).empty()) return;
  if (!path_exists(out / "config.json") || is_run(out)) {
    throw UserError(
        fmt::format("the folder is not empty and no model folder, so it is left alone; choose another --out: {}", out.string()));
  }
  if (!overwrite) {
    throw UserError(fmt::format("the folder holds a model; choose another --out, or replace it with --overwrite: {}", out.string()));
  }
}

std::uintmax_t weight_bytes(const fs::path& folder, std::size_t& files) {
  std::uintmax_t bytes = 0;
  for (const std::string& name : list_directory(folder)) {
    if (!name.ends_with(".safetensors")) continue;
    bytes += file_bytes(folder / name);
    ++files;
  }
  return bytes;
}

}  // namespace

int run_export(const ResolvedOptions& options) {
  const fs::path out = options.get_text("out");
  const Request request = find_request(options.get_text("model"));
  check_out(out, options.get_flag("overwrite"));
  const FolderLayout layout = read_layout(request.folder, ignored_config_keys(options));
  const GptConfig& config = layout.model.config;
  const std::unique_ptr<SafetensorsSource> source = request.checkpoint
                                                        ? std::make_unique<SafetensorsSource>(*request.checkpoint / kWeightsFile)
                                                        : SafetensorsSource::open_folder(request.folder);
  const FileSource parameters(*source, folder_weights(config, request.checkpoint ? ModelFamily::own : layout.model.family));

  ModelFolderOptions how;
  how.origin = &layout;
  if (options.has("dtype")) how.dtype = parse_dtype(options.get_text("dtype"));
  if (options.has("max_shard_size")) how.max_shard_bytes = static_cast<std::uint64_t>(options.get_int("max_shard_size"));
  if (!out.parent_path().empty()) make_directories(out.parent_path());
  save_model_folder(out, config, parameters, how);

  const bool own = layout.model.family == ModelFamily::own;
  if (own) log_warning("no Hugging Face family holds this structure; the folder is in reprise's own form");
  std::size_t files = 0;
  const std::uintmax_t bytes = weight_bytes(out, files);
  print_note(fmt::format(
      "{} of {} parameters, {} in {} file{}: {}\n", own ? std::string_view("model") : family_row(layout.model.family).model_type,
      format_count(parameter_count(config)), format_bytes(static_cast<std::int64_t>(bytes)), files, files == 1 ? "" : "s", out.string()));
  return 0;
}

}  // namespace reprise

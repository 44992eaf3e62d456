// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "base/error.h"
#include "io/directory.h"
#include "io/file_write.h"
#include "io/json.h"
#include "io/json_view.h"
#include "io/path_query.h"
#include "nn/weight_conversion.h"

namespace reprise {
namespace {

constexpr std::int64_t kFormatVersion = 1;
constexpr std::string_view kStepPrefix = "step-";
constexpr const char* kState = "state.json";
constexpr const char* kParameters = "model.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";

/// The N of a folder called step-N.
std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kStepPrefix.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  return step;
}

/// The steps for which RUN holds a checkpoint, ascending.
std::vector<std::int64_t> checkpoint_steps(const std::filesystem::path& run) {
  std::vector<std::int64_t> steps;
  for (const std::string& name : list_directory(run)) {
    if (const auto step = step_of(name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

/// What of a checkpoint is missing; empty: nothing.
std::string missing_part(const std::filesystem::path& checkpoint) {
  for (const char* part : {kState, kParameters, kOptimizer}) {
    if (!path_exists(checkpoint / part)) return part;
  }
  return "";
}

std::filesystem::path checkpoint_path(const std::filesystem::path& run, std::int64_t step) {
  return run / fmt::format("{}{}", kStepPrefix, step);
}

std::string state_json(const TrainState& state) {
  Json json = Json::object({{"format_version", kFormatVersion}, {"step", state.step}, {"tokens", state.tokens}});
  json.set("validation_loss", state.has_validation_loss ? Json(state.validation_loss) : Json());
  return write_json(json, 2) + "\n";
}

TrainState read_state(const std::filesystem::path& path) {
  const Json json = read_json(path);
  const JsonView view(json, path.string());
  const std::int64_t version = view.at("format_version").integer();
  if (version > kFormatVersion) {
    view.fail(fmt::format("checkpoint format {} is newer than this program reads ({}); use a newer reprise", version, kFormatVersion));
  }
  TrainState state;
  state.step = view.at("step").integer();
  state.tokens = view.at("tokens").integer();
  if (state.step < 0 || state.tokens < 0) {
    view.fail(fmt::format("step and tokens cannot be negative; take another checkpoint: {} and {}", state.step, state.tokens));
  }
  if (const auto best = view.find("validation_loss")) {
    state.validation_loss = best->number();
    state.has_validation_loss = true;
  }
  return state;
}

std::string shape_text(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

const TensorSlot* slot_named(std::span<const TensorSlot> slots, std::string_view name) {
  const auto found = std::find_if(slots.begin(), slots.end(), [&](const TensorSlot& slot) { return slot.name == name; });
  return found == slots.end() ? nullptr : &*found;
}

/// Every slot has its tensor in the file and the other way round, with equal shapes.
void check_matching(const SafetensorsFile& file, std::span<const TensorSlot> slots) {
  for (const SafetensorsTensor& tensor : file.tensors()) {
    const TensorSlot* const slot = slot_named(slots, tensor.name);
    if (slot == nullptr) {
      throw UserError(
          fmt::format("{}: the model has no tensor of this name; is it the right model? {}", file.path().string(), tensor.name));
    }
    if (slot->shape != tensor.shape) {
      throw UserError(fmt::format("{}: wrong shape of {}: the file has {}, the model {}", file.path().string(), tensor.name,
                                  shape_text(tensor.shape), shape_text(slot->shape)));
    }
  }
  for (const TensorSlot& slot : slots) {
    if (file.find(slot.name) == nullptr) {
      throw UserError(fmt::format("{}: a tensor of the model is missing: {} {}", file.path().string(), slot.name, shape_text(slot.shape)));
    }
  }
}

void remove_old_checkpoints(const std::filesystem::path& run, std::int64_t keep_last) {
  const std::vector<std::int64_t> steps = checkpoint_steps(run);
  if (keep_last <= 0) return;
  const auto kept = static_cast<std::size_t>(keep_last);
  for (std::size_t i = 0; i + kept < steps.size(); ++i) remove_path(checkpoint_path(run, steps[i]));
}

}  // namespace

SafetensorsMetadata load_weights(const std::filesystem::path& path, std::span<const TensorSlot> slots) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  check_matching(file, slots);
  for (const TensorSlot& slot : slots) {
    const SafetensorsTensor& tensor = *file.find(slot.name);
    if (tensor.dtype != slot.dtype) {
      throw UserError(fmt::format("{}: wrong dtype of {}: the file has {}, the run {}", path.string(), slot.name,
                                  dtype_name(tensor.dtype), dtype_name(slot.dtype)));
    }
  }
  for (const TensorSlot& slot : slots) {
    const SafetensorsTensor& tensor = *file.find(slot.name);
    copy_bytes(slot.bytes, tensor.bytes);
    file.release(tensor);
  }
  return file.metadata();
}

void save_weights(const std::filesystem::path& path, std::span<const TensorSlot> slots, const SafetensorsMetadata& metadata) {
  std::vector<SafetensorsPlan> plan;
  for (const TensorSlot& slot : slots) plan.push_back({slot.name, slot.dtype, slot.shape});
  SafetensorsMetadata all = {{"format", "pt"}};
  all.insert(all.end(), metadata.begin(), metadata.end());
  SafetensorsWriter writer(path, std::move(plan), all);
  for (const TensorSlot& slot : slots) writer.write_tensor(slot.name, slot.bytes);
  writer.finish();
}

void save_checkpoint(const std::filesystem::path& run, const TrainState& state, std::span<const TensorSlot> parameters,
                     std::span<const TensorSlot> optimizer, std::int64_t keep_last) {
  const std::filesystem::path final_path = checkpoint_path(run, state.step);
  StagedDirectory folder(final_path);
  save_weights(folder.path() / kParameters, parameters);
  save_weights(folder.path() / kOptimizer, optimizer);
  write_text_file(folder.path() / kState, state_json(state));
  folder.commit();
  replace_symlink(run / "latest", final_path.filename());
  remove_old_checkpoints(run, keep_last);
}

std::optional<std::filesystem::path> latest_checkpoint(const std::filesystem::path& run) {
  const std::filesystem::path link = run / "latest";
  if (missing_part(link).empty()) return resolved_path(link);
  const std::vector<std::int64_t> steps = checkpoint_steps(run);
  if (steps.empty()) return std::nullopt;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (missing_part(checkpoint_path(run, *step)).empty()) return checkpoint_path(run, *step);
  }
  const std::filesystem::path newest = checkpoint_path(run, steps.back());
  throw UserError(fmt::format(
      "no checkpoint of the run is complete; bring back what is missing, or start another run; of the newest, {}, this is gone: {}",
      newest.string(), missing_part(newest)));
}

bool is_checkpoint(const std::filesystem::path& path) {
  return path_exists(path / kState) && path_exists(path / kParameters);
}

void load_parameters(const std::filesystem::path& checkpoint, std::span<const TensorSlot> parameters) {
  read_state(checkpoint / kState);
  const SafetensorsFile file = SafetensorsFile::open(checkpoint / kParameters);
  check_matching(file, parameters);
  for (const TensorSlot& slot : parameters) {
    const SafetensorsTensor& tensor = *file.find(slot.name);
    if (!is_floating(tensor.dtype)) {
      throw UserError(
          fmt::format("{}: wrong dtype of {}; weights are floating: {}", file.path().string(), slot.name, dtype_name(tensor.dtype)));
    }
    if (const auto bad = first_not_finite(tensor.dtype, tensor.bytes)) {
      throw UserError(fmt::format("{}: {}: the weights hold a value that is not finite; take an earlier checkpoint: element {}",
                                  file.path().string(), slot.name, *bad));
    }
    convert_elements(tensor.dtype, tensor.bytes, slot.dtype, slot.bytes);
    file.release(tensor);
  }
}

TrainState load_checkpoint(const std::filesystem::path& checkpoint, std::span<const TensorSlot> parameters,
                           std::span<const TensorSlot> optimizer) {
  const TrainState state = read_state(checkpoint / kState);
  load_weights(checkpoint / kParameters, parameters);
  load_weights(checkpoint / kOptimizer, optimizer);
  return state;
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Checkpoints of a run: RUN/step-N holds model.safetensors, optimizer.safetensors and state.json, and appears whole or not
// at all; RUN/latest links to the newest. Loading copies straight into the caller's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "io/safetensors.h"

namespace reprise {

/// A tensor that lives in somebody's memory (an engine's arena): saved from there and loaded into there.
struct TensorSlot {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;
  std::span<std::byte> bytes;
};

/// What a run needs beside its tensors to go on as if it had never stopped. Data order and draws are functions of it.
struct TrainState {
  std::int64_t step = 0;            // steps done
  std::int64_t tokens = 0;          // training tokens read
  double validation_loss = 0;       // the last measured; only with has_validation_loss
  bool has_validation_loss = false;

  friend bool operator==(const TrainState&, const TrainState&) = default;
};

/// Writes RUN/step-N for N = state.step, durably, then points RUN/latest at it, then removes all but the newest
/// `keep_last` (0: keeps all). UserError when the disk refuses; RUN/latest is then what it was.
void save_checkpoint(const std::filesystem::path& run, const TrainState& state, std::span<const TensorSlot> parameters,
                     std::span<const TensorSlot> optimizer, std::int64_t keep_last);

/// Returns the folder that a resumed run starts from: where RUN/latest points, else the highest RUN/step-N, of those that are
/// complete; nothing when there is no checkpoint. UserError when there are some and none is complete.
std::optional<std::filesystem::path> latest_checkpoint(const std::filesystem::path& run);

/// Whether `path` is the folder of a checkpoint.
bool is_checkpoint(const std::filesystem::path& path);

/// Reads a checkpoint folder into the slots. UserError naming file and tensor when one is missing, unknown, or of another
/// dtype or shape, or when the format version is newer than this program.
TrainState load_checkpoint(const std::filesystem::path& checkpoint, std::span<const TensorSlot> parameters,
                           std::span<const TensorSlot> optimizer);

/// Reads a checkpoint's parameters alone, converting between floating dtypes. UserError as load_checkpoint, but for dtypes, and when
/// a value is NaN or infinite.
void load_parameters(const std::filesystem::path& checkpoint, std::span<const TensorSlot> parameters);

/// Writes the slots as one safetensors file, with these strings beside them.
void save_weights(const std::filesystem::path& path, std::span<const TensorSlot> slots, const SafetensorsMetadata& metadata = {});

/// Reads such a file into the slots, bit for bit, and returns its strings. UserError, before a slot is written, when a tensor is
/// missing, unknown, or of another dtype or shape.
SafetensorsMetadata load_weights(const std::filesystem::path& path, std::span<const TensorSlot> slots);

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// The families of models that Hugging Face folders hold, as a table: what config.json calls them, and what their tensors are
// called. Their configuration keys are in family_config.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

/// `own`: no family, tensors under our parameters' names.
enum class ModelFamily : std::uint8_t {
  own, gpt2, gpt_neox, falcon, llama, mistral, mixtral, qwen2, qwen3, qwen3_moe, gemma, gemma2, gemma3, olmo, olmo2,
  phi, phi3, stablelm, starcoder2, smollm3, deepseek_v3
};

/// A module's name here and in a family's files. Three names separated by blanks: one tensor each for queries, keys and values.
/// Several modules under one name: one tensor, their rows one after the other. `*` stands for the number of an expert.
struct ModuleName {
  std::string_view ours;
  std::string_view theirs;
};

struct FamilyRow {
  ModelFamily family;
  std::string_view model_type;    // in config.json
  std::string_view architecture;  // transformers' class
  std::string_view hints;         // parts of published models' names (lower case, separated by blanks) that tell this family
                                  // from others that could hold the same structure
  std::string_view layers;        // what a layer's number follows
  std::vector<std::span<const ModuleName>> names;  // searched in order
  bool qkv_by_group = false;      // rows of a fused qkv: for each key group its queries, its key, its value
  std::vector<std::string_view> derived;  // endings of tensors that old files carry and that hold no weights
};

/// All families but `own`.
const std::vector<FamilyRow>& family_table();
const FamilyRow& family_row(ModelFamily family);
/// The family that config.json calls `model_type`, or nothing.
std::optional<ModelFamily> find_family(std::string_view model_type);
/// "falcon, gemma, ...", for errors.
std::string family_names();

}  // namespace reprise

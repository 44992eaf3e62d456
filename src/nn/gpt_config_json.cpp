// SPDX-License-Identifier: Apache-2.0
#include "nn/gpt_config_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "io/path_query.h"
#include "nn/config_fields.h"
#include "nn/family_config.h"
#include "nn/gguf_model.h"
#include "nn/litgpt_config.h"
#include "nn/own_config.h"

namespace reprise {
namespace {

bool mentions(const Json& json, const std::string& key) {
  if (!json.is_object()) return false;
  return std::any_of(json.members().begin(), json.members().end(),
                     [&](const JsonMember& member) { return member.key == key || mentions(member.value, key); });
}

/// What a file keeps: not the run's dropout, nor that the vocabulary may change.
GptConfig kept_structure(GptConfig config) {
  config.set_dropout(0);
  config.vocab_follows_tokenizer = false;
  const auto ratio = static_cast<std::uint64_t>(config.rope_condense_ratio);
  if (ratio > 1 && std::has_single_bit(ratio) && config.rope_scaling.kind == RopeScaling::Kind::none) {
    config.rope_scaling.kind = RopeScaling::Kind::linear;
    config.rope_scaling.factor = static_cast<double>(ratio);
    config.rope_condense_ratio = 1;
  }
  return config;
}

bool is_hinted(const FamilyRow& family, std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string_view hints = family.hints;
  while (!hints.empty()) {
    const std::size_t end = std::min(hints.find(' '), hints.size());
    if (name.find(hints.substr(0, end)) != std::string::npos) return true;
    hints.remove_prefix(std::min(end + 1, hints.size()));
  }
  return false;
}

/// Families in the order in which they are tried.
std::vector<ModelFamily> candidates(const GptConfig& config, std::optional<ModelFamily> preferred) {
  std::vector<ModelFamily> order;
  if (preferred && *preferred != ModelFamily::own) order.push_back(*preferred);
  for (const bool hinted : {true, false}) {
    for (const FamilyRow& row : family_table()) {
      if (is_hinted(row, config.name) == hinted) order.push_back(row.family);
    }
  }
  return order;
}

}  // namespace

FolderConfig config_from_json(const Json& root, const std::string& file, std::span<const std::string> ignored) {
  const JsonView view(root, file);
  FolderConfig folder;
  for (const std::string& key : ignored) {
    if (!mentions(root, key)) log_warning(fmt::format("{}: no key to ignore of this name: {}", file, key));
  }
  if (view.find("litgpt")) {
    folder.config = read_litgpt_config(view);
  } else {
    ConfigFields f(view, ignored);
    const std::string type = f.string("model_type");
    if (const auto family = find_family(type)) {
      folder = {read_family_config(*family, f), *family};
    } else if (type == kOwnConfigType) {
      folder.config = read_own_config(f);
    } else {
      view.at("model_type").fail(fmt::format("\"{}\" is not supported; one of: {}", type, family_names()));
    }
    f.finish();
  }
  try {
    validate(folder.config);
  } catch (const UserError& error) {
    view.fail(error.what());
  }
  return folder;
}

FolderConfig read_config(const std::filesystem::path& path, std::span<const std::string> ignored) {
  if (is_gguf(path)) return {gguf_config(GgufFile::open(path)), ModelFamily::own};
  const std::filesystem::path file = is_folder(path) ? path / "config.json" : path;
  return config_from_json(read_json(file), file.string(), ignored);
}

ConfigFile config_to_json(const GptConfig& config, std::optional<ModelFamily> preferred) {
  const GptConfig structure = kept_structure(config);
  const auto expresses = [&](const Json& json) {
    try {
      return config_from_json(json, "config.json").config == structure;
    } catch (const UserError&) {
      return false;  // a structure that this family's file does not allow
    }
  };
  for (const ModelFamily family : candidates(structure, preferred)) {
    Json json = write_family_config(family, structure);
    if (expresses(json)) return {std::move(json), family};
  }
  return {write_own_config(config), ModelFamily::own};
}

}  // namespace reprise

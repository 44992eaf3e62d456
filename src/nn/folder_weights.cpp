// SPDX-License-Identifier: Apache-2.0
#include "nn/folder_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "nn/gpt.h"

namespace reprise {
namespace {

constexpr std::string_view kLayers = "transformer.h.";
constexpr std::string_view kExperts = "mlp.experts.";

/// Falcon's layers with a norm of their own for attention and for the MLP, side by side.
constexpr ModuleName kFalconTwoNorms[] = {{"norm_1", "ln_attn"}, {"norm_2", "ln_mlp"}};

/// A parameter's name in its parts: "transformer.h.3." + "mlp.experts.*.fc_1" (expert 7) + "weight".
struct Parts {
  std::string layer;
  std::string module;
  std::string expert;
  std::string leaf;
};

/// Takes the digits at the start of `text` and the dot behind them.
std::string take_number(std::string& text) {
  const std::size_t dot = std::min(text.find('.'), text.size() - 1);
  const std::string number = text.substr(0, dot);
  text.erase(0, dot + 1);
  return number;
}

Parts parts_of(std::string_view name) {
  Parts parts;
  const std::size_t dot = name.rfind('.');
  parts.leaf = name.substr(dot + 1);
  parts.module = name.substr(0, dot);
  if (!parts.module.starts_with(kLayers)) return parts;
  parts.module.erase(0, kLayers.size());
  parts.layer = take_number(parts.module);
  if (parts.module.starts_with(kExperts)) {
    std::string rest = parts.module.substr(kExperts.size());
    parts.expert = take_number(rest);
    parts.module = fmt::format("{}*.{}", kExperts, rest);
  }
  return parts;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    found.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

/// Names of the tensors that hold this parameter: one, or three for queries, keys and values.
std::vector<std::string> names_there(const GptConfig& config, const FamilyRow& family, const Parts& parts, const std::string& ours) {
  std::vector<std::span<const ModuleName>> tables = family.names;
  const bool two_norms = config.parallel_residual && !config.shared_attention_norm;
  if (family.family == ModelFamily::falcon && two_norms) tables.insert(tables.begin(), kFalconTwoNorms);
  for (const auto& table : tables) {
    const auto entry = std::find_if(table.begin(), table.end(), [&](const ModuleName& name) { return name.ours == parts.module; });
    if (entry == table.end()) continue;
    std::vector<std::string> names = words(entry->theirs);
    for (std::string& name : names) {
      if (const std::size_t star = name.find('*'); star != std::string::npos) name.replace(star, 1, parts.expert);
      name = parts.layer.empty() ? fmt::format("{}.{}", name, parts.leaf)
                                 : fmt::format("{}{}.{}.{}", family.layers, parts.layer, name, parts.leaf);
    }
    return names;
  }
  throw UserError(fmt::format("a folder of {} cannot hold this model: it has no name for {}", family.model_type, ours));
}

std::int64_t row_count(const Shape& shape) { return SourceTensor{"", "", {}, shape.extents()}.rows(); }

/// Rows of a fused qkv, in the order of a family that keeps a group's queries, key and value together.
std::vector<ParameterRows> rows_by_group(const GptConfig& c, const std::string& parameter) {
  const std::int64_t queries = c.n_head / c.n_query_groups;
  std::vector<ParameterRows> rows;
  const auto add = [&](std::int64_t head, std::int64_t count) {
    rows.push_back({parameter, head * c.head_size, (head + count) * c.head_size});
  };
  for (std::int64_t group = 0; group < c.n_query_groups; ++group) {
    add(group * queries, queries);
    add(c.n_head + group, 1);
    add(c.n_head + c.n_query_groups + group, 1);
  }
  return rows;
}

/// Collects tensors; rows that go to a tensor which is there already are appended to it.
class TableBuilder {
 public:
  void add(const std::string& name, const Shape& shape, std::vector<ParameterRows> rows) {
    std::int64_t count = 0;
    for (const ParameterRows& part : rows) count += part.last - part.first;
    const auto [at, is_new] = places_.emplace(name, table.tensors.size());
    if (is_new) {
      FolderTensor tensor{name, {}, shape.extents(), {}};
      tensor.shape[0] = 0;
      table.tensors.push_back(std::move(tensor));
    }
    FolderTensor& tensor = table.tensors[at->second];
    const std::int64_t inner = row_count(shape) / std::max<std::int64_t>(1, shape[0]);
    tensor.shape[0] += count / std::max<std::int64_t>(1, inner);
    tensor.rows.insert(tensor.rows.end(), rows.begin(), rows.end());
  }

  WeightTable table;

 private:
  std::unordered_map<std::string, std::size_t> places_;
};

void add_parameter(TableBuilder& builder, const GptConfig& c, const FamilyRow& family, const NamedParameter& p) {
  const Parts parts = parts_of(p.name);
  const std::vector<std::string> names = names_there(c, family, parts, p.name);
  if (names.size() == 3) {
    const std::int64_t q = c.n_head * c.head_size;
    const std::int64_t kv = c.n_query_groups * c.head_size;
    builder.add(names[0], p.shape, {{p.name, 0, q}});
    builder.add(names[1], p.shape, {{p.name, q, q + kv}});
    builder.add(names[2], p.shape, {{p.name, q + kv, q + 2 * kv}});
    return;
  }
  const bool grouped = family.qkv_by_group && parts.module == "attn.qkv";
  builder.add(names[0], p.shape, grouped ? rows_by_group(c, p.name) : std::vector<ParameterRows>{{p.name, 0, row_count(p.shape)}});
}

/// The names under which a tied matrix may stand instead: the head's.
void add_tied_names(WeightTable& table, std::string_view embedding, const std::string& head) {
  table.derived.push_back(head);
  for (FolderTensor& tensor : table.tensors) {
    if (tensor.name == embedding) tensor.other_names.push_back(head);
  }
}

/// GPT-2's first published files leave this out.
void add_names_without_prefix(WeightTable& table) {
  constexpr std::string_view kPrefix = "transformer.";
  for (FolderTensor& tensor : table.tensors) {
    if (tensor.name.starts_with(kPrefix)) tensor.other_names.push_back(tensor.name.substr(kPrefix.size()));
  }
}

}  // namespace

bool WeightTable::is_derived(std::string_view name) const {
  return std::any_of(derived.begin(), derived.end(), [&](const std::string& ending) { return name.ends_with(ending); });
}

WeightTable folder_weights(const GptConfig& config, ModelFamily family) {
  const bool own_names = family == ModelFamily::own || family == ModelFamily::gpt2;
  const bool gpt2_names = own_names && config.weight_names == WeightNames::gpt2;
  TableBuilder builder;
  for (const NamedParameter& p : Gpt(config).parameters()) {
    if (own_names) builder.add(p.name, p.shape, {{p.name, 0, row_count(p.shape)}});
    else add_parameter(builder, config, family_row(family), p);
  }
  WeightTable& table = builder.table;
  if (gpt2_names) add_names_without_prefix(table);
  if (gpt2_names || !own_names) {
    const FamilyRow& row = family_row(gpt2_names ? ModelFamily::gpt2 : family);
    table.derived.assign(row.derived.begin(), row.derived.end());
  }
  if (config.tied) {
    const auto theirs = [&](const std::string& module) {
      return own_names ? module + ".weight" : names_there(config, family_row(family), {"", module, "", "weight"}, module)[0];
    };
    add_tied_names(table, theirs("transformer.wte"), theirs("lm_head"));
  }
  return std::move(builder.table);
}

std::vector<std::size_t> match_weights(const TensorSource& source, const WeightTable& table) {
  std::vector<std::size_t> places;
  std::unordered_set<std::size_t> used;
  for (const FolderTensor& wanted : table.tensors) {
    std::optional<std::size_t> place = source.find(wanted.name);
    for (const std::string& other : wanted.other_names) {
      if (!place) place = source.find(other);
    }
    if (!place) {
      throw UserError(fmt::format("{}: a tensor of the model is missing: {} {}", source.name(), wanted.name, shape_text(wanted.shape)));
    }
    const SourceTensor& tensor = source.tensors()[*place];
    if (tensor.shape != wanted.shape) {
      throw UserError(fmt::format("{}: wrong shape of {}: the file has {}, the model {}", source.file_of(*place), tensor.name,
                                  shape_text(tensor.shape), shape_text(wanted.shape)));
    }
    if (tensor.dtype && !is_floating(*tensor.dtype)) {
      throw UserError(
          fmt::format("{}: wrong dtype of {}; weights are floating: {}", source.file_of(*place), tensor.name, tensor.type_name));
    }
    used.insert(*place);
    places.push_back(*place);
  }
  for (std::size_t i = 0; i < source.tensors().size(); ++i) {
    const SourceTensor& tensor = source.tensors()[i];
    if (used.contains(i) || table.is_derived(tensor.name)) continue;
    throw UserError(fmt::format("{}: the model has no tensor of this name; is config.json the right one? {} {}", source.file_of(i),
                                tensor.name, shape_text(tensor.shape)));
  }
  return places;
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
#include "nn/family_fields.h"

#include <fmt/format.h>

#include <algorithm>

namespace reprise {
namespace {

using Kind = RopeScaling::Kind;

constexpr std::int64_t kMostSize = std::int64_t{1} << 40;  // sums and small multiples of sizes stay in 64 bits
constexpr std::string_view kSliding = "sliding_attention";
constexpr std::string_view kFull = "full_attention";

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

bool has_word(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    if (first_word(text) == word) return true;
    text.remove_prefix(std::min(first_word(text).size() + 1, text.size()));
  }
  return false;
}

std::string listed(std::string_view words) {
  std::string text(words);
  for (std::size_t at = 0; (at = text.find(' ', at)) != std::string::npos; at += 2) text.replace(at, 1, ", ");
  return text;
}

Json json_of(const FixedValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

/// What a scaling's `rope_type` (older: `type`) says.
Kind read_kind(ConfigFields& f) {
  constexpr std::pair<std::string_view, Kind> kKinds[] = {{"default", Kind::none},  {"linear", Kind::linear},     {"llama3", Kind::llama3},
                                                          {"yarn", Kind::yarn},     {"longrope", Kind::longrope}, {"su", Kind::longrope}};
  std::optional<Kind> found;
  for (const char* key : {"rope_type", "type"}) {
    const auto member = f.find(key);
    if (!member) continue;
    const auto at = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& kind) { return kind.first == member->string(); });
    if (at == std::end(kKinds)) {
      member->fail(fmt::format("\"{}\" is not supported; one of: default, linear, llama3, yarn, longrope", member->string()));
    }
    if (found && *found != at->second) member->fail(fmt::format("\"{}\" contradicts rope_type; remove one", member->string()));
    found = at->second;
  }
  return found.value_or(Kind::none);
}

std::optional<double> optional_number(ConfigFields& f, std::string_view key) {
  return f.has(key) ? std::optional(f.number(key)) : std::nullopt;
}

std::vector<double> read_numbers(ConfigFields& f, std::string_view key) {
  const auto list = f.find(key);
  if (!list) f.view().fail(fmt::format("key \"{}\" is missing; add it", key));
  std::vector<double> numbers;
  for (std::size_t i = 0; i < list->size(); ++i) numbers.push_back(list->item(i).number());
  return numbers;
}

Json json_numbers(const std::vector<double>& numbers) { return Json::array({numbers.begin(), numbers.end()}); }

/// The scaling in an object that may hold other keys of rotary positions too. `original`: the length from outside the object.
RopeScaling read_scaling(ConfigFields& f, const GptConfig& c, std::optional<std::int64_t> original) {
  RopeScaling scaling;
  scaling.kind = read_kind(f);
  if (scaling.kind == Kind::none) return scaling;
  if (scaling.kind == Kind::linear) {
    scaling.factor = f.number("factor");
    return scaling;
  }
  if (scaling.kind == Kind::yarn && !original) original = c.block_size;
  scaling.original_max_seq_len = f.integer("original_max_position_embeddings", original);
  const double stretched = static_cast<double>(c.block_size) / static_cast<double>(std::max<std::int64_t>(1, scaling.original_max_seq_len));
  switch (scaling.kind) {
    case Kind::llama3:
      scaling.factor = f.number("factor");
      scaling.low_freq_factor = f.number("low_freq_factor");
      scaling.high_freq_factor = f.number("high_freq_factor");
      break;
    case Kind::yarn:
      scaling.factor = f.number("factor");
      scaling.beta_fast = f.number("beta_fast", 32);
      scaling.beta_slow = f.number("beta_slow", 1);
      scaling.truncate = f.boolean("truncate", true);
      scaling.mscale = optional_number(f, "mscale");
      scaling.mscale_all_dim = optional_number(f, "mscale_all_dim");
      scaling.attention_factor = optional_number(f, "attention_factor");
      break;
    case Kind::longrope:
      scaling.factor = f.number("factor", stretched);
      scaling.short_factor = read_numbers(f, "short_factor");
      scaling.long_factor = read_numbers(f, "long_factor");
      scaling.attention_factor = optional_number(f, "attention_factor");
      break;
    default: break;
  }
  return scaling;
}

}  // namespace

void FamilyReader::size(std::string_view key, std::int64_t& value, std::optional<std::int64_t> fallback) {
  value = f_.integer(key, fallback);
  require(value >= -kMostSize && value <= kMostSize, fmt::format("{} is out of range: {}", key, value));
}

void FamilyReader::optional(std::string_view key, std::optional<double>& value, std::optional<double> fallback) {
  if (f_.has(key)) value = f_.number(key);
  else value = f_.is_null(key) ? std::nullopt : fallback;
}

void FamilyReader::optional(std::string_view key, std::optional<std::int64_t>& value, std::optional<std::int64_t> fallback) {
  if (f_.has(key)) value = f_.integer(key);
  else value = f_.is_null(key) ? std::nullopt : fallback;
}

void FamilyReader::fixed(std::string_view key, FixedValue value) {
  const auto member = f_.find(key);
  const Json wanted = json_of(value);
  if (!member || member->json() == wanted) return;
  if (member->json().is_number() && wanted.is_number() && member->json().number() == wanted.number()) return;
  member->fail(fmt::format("{} is not supported; only {}", write_json(member->json()), write_json(wanted)));
}

void FamilyReader::null(std::string_view key) {
  if (const auto member = f_.find(key)) member->fail("is not supported; only null");
}

void FamilyReader::empty_list(std::string_view key) {
  const auto member = f_.find(key);
  if (!member) return;
  const Json& json = member->json();
  const bool empty = json.is_array() ? json.items().empty() : json.is_object() && json.members().empty();
  if (!empty) member->fail("is not supported; only an empty list");
}

void FamilyReader::choice(std::string_view key, bool& value, std::string_view names_false, std::string_view names_true, bool fallback) {
  value = fallback;
  const auto member = f_.find(key);
  if (!member) return;
  value = has_word(names_true, member->string());
  if (value || has_word(names_false, member->string())) return;
  const bool both = !names_true.empty() && !names_false.empty();
  member->fail(
      fmt::format("\"{}\" is not supported; one of: {}{}{}", member->string(), listed(names_false), both ? ", " : "", listed(names_true)));
}

void FamilyReader::layers(std::string_view key, LayerPattern& pattern, const LayerPattern& fallback) {
  pattern = fallback;
  const auto list = f_.find(key);
  if (!list) return;
  std::vector<bool> entries;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::int64_t entry = list->item(i).integer();
    if (entry != 0 && entry != 1) list->item(i).fail(fmt::format("must be 0 or 1, not {}", entry));
    entries.push_back(entry == 1);
  }
  if (entries.empty()) list->fail("must have an entry for each layer; it is empty");
  pattern = LayerPattern(std::move(entries));
}

void FamilyReader::layer_types(GptConfig& c, const LayerPattern& fallback) {
  std::vector<bool> sliding;
  if (const auto types = f_.find("layer_types")) {
    if (static_cast<std::int64_t>(types->size()) != c.n_layer) {
      types->fail(fmt::format("must have an entry for each of the {} layers, not {}", c.n_layer, types->size()));
    }
    for (std::size_t i = 0; i < types->size(); ++i) {
      const std::string& type = types->item(i).string();
      if (type != kSliding && type != kFull) {
        types->item(i).fail(fmt::format("\"{}\" is not supported; one of: {}, {}", type, kFull, kSliding));
      }
      sliding.push_back(type == kSliding);
      if (type == kSliding && !c.sliding_window_size) types->item(i).fail("needs a sliding_window, and none is on");
    }
  } else {
    for (std::int64_t layer = 0; layer < c.n_layer; ++layer) sliding.push_back(fallback[layer]);
  }
  c.sliding_window_indices = sliding.empty() ? fallback : LayerPattern(sliding);
  if (std::find(sliding.begin(), sliding.end(), true) == sliding.end()) c.sliding_window_size.reset();
  if (!c.sliding_window_size) c.sliding_window_indices = LayerPattern(true);
}

void FamilyReader::read_rope_object(const JsonView& object, GptConfig& c) {
  ConfigFields inner(object, f_.ignored());
  std::optional<std::int64_t> original;
  if (f_.has("original_max_position_embeddings")) original = f_.integer("original_max_position_embeddings");
  c.rope_base = inner.number("rope_theta", c.rope_base);
  c.rotary_percentage = inner.number("partial_rotary_factor", c.rotary_percentage);
  c.rope_scaling = read_scaling(inner, c, original);
  inner.finish();
}

void FamilyReader::rope(GptConfig& c, const RopeKeys& keys) {
  c.rope_base = f_.number(keys.base, keys.default_base);
  if (keys.base != "rope_theta" && f_.has("rope_theta")) c.rope_base = f_.number("rope_theta");
  c.rotary_percentage = f_.number(keys.share, keys.default_share);
  if (keys.share != "partial_rotary_factor" && f_.has("partial_rotary_factor")) c.rotary_percentage = f_.number("partial_rotary_factor");
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (const auto member = f_.find(key)) read_rope_object(*member, c);
  }
  // Without a scaling this length shapes nothing.
  if (keys.original_length_outside) f_.ignore({"original_max_position_embeddings"});
}

void FamilyReader::rope_by_layer_type(GptConfig& c) {
  const RopeKeys keys{.default_base = 1000000};
  double local = f_.number("rope_local_base_freq", 10000);
  const auto parameters = f_.find("rope_parameters");
  if (parameters && parameters->find(kFull)) {
    ConfigFields by_type(*parameters, f_.ignored());
    c.rope_base = keys.default_base;
    read_rope_object(*by_type.find(kFull), c);
    if (const auto sliding = by_type.find(kSliding)) {
      GptConfig other = c;
      read_rope_object(*sliding, other);
      if (other.rope_scaling.kind != Kind::none) {
        sliding->fail("a scaling of the layers with a window is not supported; only of the others");
      }
      local = other.rope_base;
    }
    by_type.finish();
  } else {
    rope(c, keys);
  }
  c.rope_local_base_freq = local;
  c.rope_indices = c.sliding_window_size ? c.sliding_window_indices : LayerPattern(false);
  if (!c.sliding_window_size) c.rope_local_base_freq.reset();
}

void FamilyWriter::fixed(std::string_view key, FixedValue value) { json_.set(key, json_of(value)); }

void FamilyWriter::choice(std::string_view key, bool& value, std::string_view names_false, std::string_view names_true, bool) {
  json_.set(key, Json(first_word(value ? names_true : names_false)));
}

void FamilyWriter::layers(std::string_view key, LayerPattern& pattern, const LayerPattern&) {
  Json list = Json::array();
  for (std::int64_t layer = 0; layer < n_layer_; ++layer) list.push_back(Json(pattern[layer] ? 1 : 0));
  json_.set(key, std::move(list));
}

void FamilyWriter::layer_types(GptConfig& c, const LayerPattern&) {
  Json types = Json::array();
  for (std::int64_t layer = 0; layer < c.n_layer; ++layer) types.push_back(Json(c.window(layer) > 0 ? kSliding : kFull));
  json_.set("layer_types", std::move(types));
}

Json FamilyWriter::rope_scaling(const GptConfig& c, const RopeKeys& keys) const {
  const RopeScaling& scaling = c.rope_scaling;
  if (scaling.kind == Kind::none || scaling.kind == Kind::yarn_litgpt) return Json();
  constexpr std::string_view kNames[] = {"default", "linear", "llama3", "yarn", "", "longrope"};
  Json json = Json::object();
  json.set(keys.original_length_outside ? "type" : "rope_type", Json(kNames[static_cast<std::size_t>(scaling.kind)]));
  const double stretched = static_cast<double>(c.block_size) / static_cast<double>(scaling.original_max_seq_len);
  if (scaling.kind != Kind::longrope || scaling.factor != stretched) json.set("factor", Json(scaling.factor));
  if (scaling.kind == Kind::llama3) {
    json.set("low_freq_factor", Json(scaling.low_freq_factor));
    json.set("high_freq_factor", Json(scaling.high_freq_factor));
  }
  if (scaling.kind == Kind::yarn) {
    json.set("beta_fast", Json(scaling.beta_fast));
    json.set("beta_slow", Json(scaling.beta_slow));
    if (!scaling.truncate) json.set("truncate", Json(false));
    if (scaling.mscale) json.set("mscale", Json(*scaling.mscale));
    if (scaling.mscale_all_dim) json.set("mscale_all_dim", Json(*scaling.mscale_all_dim));
  }
  if (scaling.kind == Kind::longrope) {
    json.set("short_factor", json_numbers(scaling.short_factor));
    json.set("long_factor", json_numbers(scaling.long_factor));
  }
  if (scaling.attention_factor) json.set("attention_factor", Json(*scaling.attention_factor));
  if (scaling.kind != Kind::linear && !keys.original_length_outside) {
    json.set("original_max_position_embeddings", Json(scaling.original_max_seq_len));
  }
  return json;
}

void FamilyWriter::rope(GptConfig& c, const RopeKeys& keys) {
  json_.set(keys.base, Json(c.rope_base));
  if (keys.default_share != 1 || c.rotary_percentage != 1) json_.set(keys.share, Json(c.rotary_percentage));
  if (keys.original_length_outside) {
    const bool scaled = c.rope_scaling.kind != Kind::none;
    json_.set("original_max_position_embeddings", Json(scaled ? c.rope_scaling.original_max_seq_len : c.block_size));
  }
  json_.set("rope_scaling", rope_scaling(c, keys));
}

void FamilyWriter::rope_by_layer_type(GptConfig& c) {
  rope(c, {.default_base = 1000000});
  json_.set("rope_local_base_freq", Json(c.rope_local_base_freq.value_or(10000)));
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// The two visitors of a family's configuration keys (family_config.cpp): one reads a config.json into a GptConfig, one writes it.
// Both have the same functions, so that one list of keys per family serves both ways.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "nn/config_fields.h"
#include "nn/gpt_config.h"

namespace reprise {

/// A value a file must have, where it has one: what a structure that is not supported would change.
using FixedValue = std::variant<bool, std::int64_t, std::string_view>;

/// Keys of the rotary positions, beside `rope_scaling` and transformers 5's `rope_parameters`, that a family uses.
struct RopeKeys {
  std::string_view base = "rope_theta";
  std::string_view share = "partial_rotary_factor";
  double default_base = 10000;
  double default_share = 1;
  bool original_length_outside = false;  // `original_max_position_embeddings` beside `rope_scaling`, not in it (Phi-3)
};

class FamilyReader {
 public:
  static constexpr bool kReads = true;
  explicit FamilyReader(ConfigFields& f) : f_(f) {}

  bool has(std::string_view key) { return f_.has(key); }
  /// Missing and null take the fallback; without one they are errors.
  void size(std::string_view key, std::int64_t& value, std::optional<std::int64_t> fallback = {});
  void number(std::string_view key, double& value, std::optional<double> fallback = {}) { value = f_.number(key, fallback); }
  void flag(std::string_view key, bool& value, std::optional<bool> fallback = {}) { value = f_.boolean(key, fallback); }
  void text(std::string_view key, std::string& value) { value = f_.string(key, std::string()); }
  /// Null is nothing; missing takes the fallback.
  void optional(std::string_view key, std::optional<double>& value, std::optional<double> fallback = {});
  void optional(std::string_view key, std::optional<std::int64_t>& value, std::optional<std::int64_t> fallback = {});
  /// UserError unless the member is missing, null, or this.
  void fixed(std::string_view key, FixedValue value);
  /// UserError unless the member is missing or null; missing, null or empty.
  void null(std::string_view key);
  void empty_list(std::string_view key);
  /// A name that stands for false or for true; several for one of them are separated by blanks.
  void choice(std::string_view key, bool& value, std::string_view names_false, std::string_view names_true, bool fallback);
  /// Entries of 0 and 1 for each layer.
  void layers(std::string_view key, LayerPattern& pattern, const LayerPattern& fallback);
  /// `layer_types`: the layers whose attention has the window; without the key those of `fallback`. A window that no layer has is none.
  void layer_types(GptConfig& c, const LayerPattern& fallback);
  void rope(GptConfig& c, const RopeKeys& keys);
  /// Gemma 3: tables for layers with the window and for the others.
  void rope_by_layer_type(GptConfig& c);
  void require(bool holds, std::string_view what) const {
    if (!holds) f_.view().fail(what);
  }

 private:
  void read_rope_object(const JsonView& object, GptConfig& c);

  ConfigFields& f_;
};

class FamilyWriter {
 public:
  static constexpr bool kReads = false;
  explicit FamilyWriter(Json& json) : json_(json) {}

  bool has(std::string_view) { return false; }
  void size(std::string_view key, std::int64_t& value, std::optional<std::int64_t> = {}) { json_.set(key, Json(value)); }
  void number(std::string_view key, double& value, std::optional<double> = {}) { json_.set(key, Json(value)); }
  void flag(std::string_view key, bool& value, std::optional<bool> = {}) { json_.set(key, Json(value)); }
  void text(std::string_view key, std::string& value) {
    if (!value.empty()) json_.set(key, Json(value));
  }
  void optional(std::string_view key, std::optional<double>& value, std::optional<double> = {}) {
    json_.set(key, value ? Json(*value) : Json());
  }
  void optional(std::string_view key, std::optional<std::int64_t>& value, std::optional<std::int64_t> = {}) {
    json_.set(key, value ? Json(*value) : Json());
  }
  void fixed(std::string_view key, FixedValue value);
  void null(std::string_view key) { json_.set(key, Json()); }
  void empty_list(std::string_view key) { json_.set(key, Json::array()); }
  void choice(std::string_view key, bool& value, std::string_view names_false, std::string_view names_true, bool);
  void layers(std::string_view key, LayerPattern& pattern, const LayerPattern&);
  void layer_types(GptConfig& c, const LayerPattern&);
  void rope(GptConfig& c, const RopeKeys& keys);
  void rope_by_layer_type(GptConfig& c);
  void require(bool, std::string_view) {}
  /// Layers of the model, for lists with an entry for each.
  void set_layer_count(std::int64_t n_layer) { n_layer_ = n_layer; }

 private:
  Json rope_scaling(const GptConfig& c, const RopeKeys& keys) const;

  Json& json_;
  std::int64_t n_layer_ = 0;
};

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Reads the members of a config.json one by one and keeps count of them, so that what nobody asked for is an error.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_view.h"

namespace reprise {

class ConfigFields {
 public:
  /// `ignored`: keys that may be there although nobody asks for them.
  explicit ConfigFields(JsonView view, std::span<const std::string> ignored = {}) : view_(std::move(view)), ignored_(ignored) {}

  bool has(std::string_view key) { return find(key).has_value(); }
  /// The member, or nothing when missing or null; it counts as known from now on.
  std::optional<JsonView> find(std::string_view key);
  /// Whether the member is there and null.
  bool is_null(std::string_view key) const;
  /// The member, or `fallback`; UserError when it is missing and there is no fallback, or is of another kind.
  std::int64_t integer(std::string_view key, std::optional<std::int64_t> fallback = {});
  double number(std::string_view key, std::optional<double> fallback = {});
  bool boolean(std::string_view key, std::optional<bool> fallback = {});
  std::string string(std::string_view key, std::optional<std::string> fallback = {});
  /// One of `names`, by its place; UserError listing them.
  std::size_t choice(std::string_view key, std::initializer_list<std::string_view> names, std::optional<std::size_t> fallback = {});
  /// UserError naming the key when it is there and neither null, false, zero nor the string `neutral`.
  void refuse(std::string_view key, std::string_view neutral = {});
  /// UserError naming the key unless it is missing or has this value.
  void require(std::string_view key, bool value);
  /// Marks keys that do not change what the model computes.
  void ignore(std::span<const std::string_view> keys);
  void ignore(std::initializer_list<std::string_view> keys) { ignore(std::span(keys.begin(), keys.size())); }
  /// UserError for a member that is not known, with the nearest known key, and for one that is to be ignored although it was read.
  void finish() const;
  const JsonView& view() const { return view_; }
  std::span<const std::string> ignored() const { return ignored_; }

 private:
  JsonView view_;
  std::span<const std::string> ignored_;
  std::vector<std::string> known_;   // read
  std::vector<std::string> inert_;
};

}  // namespace reprise

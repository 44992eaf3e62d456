// SPDX-License-Identifier: Apache-2.0
#include "nn/config_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"

namespace reprise {
namespace {

template <class T, class Read>
T read_or(const JsonView& object, std::optional<JsonView> member, std::string_view key, std::optional<T> fallback, const Read& read) {
  if (member) return read(*member);
  if (!fallback) object.fail(fmt::format("key \"{}\" is missing; add it", key));
  return *std::move(fallback);
}

bool is_neutral(const Json& value, std::string_view neutral) {
  if (value.is_null()) return true;
  if (value.is_boolean()) return !value.boolean();
  if (value.is_number()) return value.number() == 0;
  return value.is_string() && !neutral.empty() && value.string() == neutral;
}

}  // namespace

std::optional<JsonView> ConfigFields::find(std::string_view key) {
  known_.emplace_back(key);
  return view_.find(key);
}

std::int64_t ConfigFields::integer(std::string_view key, std::optional<std::int64_t> fallback) {
  return read_or(view_, find(key), key, fallback, [](const JsonView& v) { return v.integer(); });
}

double ConfigFields::number(std::string_view key, std::optional<double> fallback) {
  return read_or(view_, find(key), key, fallback, [](const JsonView& v) { return v.number(); });
}

bool ConfigFields::boolean(std::string_view key, std::optional<bool> fallback) {
  return read_or(view_, find(key), key, fallback, [](const JsonView& v) { return v.boolean(); });
}

std::string ConfigFields::string(std::string_view key, std::optional<std::string> fallback) {
  return read_or(view_, find(key), key, std::move(fallback), [](const JsonView& v) { return v.string(); });
}

std::size_t ConfigFields::choice(std::string_view key, std::initializer_list<std::string_view> names,
                                 std::optional<std::size_t> fallback) {
  return read_or(view_, find(key), key, fallback, [&](const JsonView& v) {
    const auto found = std::find(names.begin(), names.end(), v.string());
    if (found == names.end()) {
      v.fail(fmt::format("\"{}\" is not supported; one of: {}", v.string(), fmt::join(names, ", ")));
    }
    return static_cast<std::size_t>(found - names.begin());
  });
}

void ConfigFields::refuse(std::string_view key, std::string_view neutral) {
  const std::optional<JsonView> member = find(key);
  if (member && !is_neutral(member->json(), neutral)) member->fail("is not supported yet");
}

void ConfigFields::require(std::string_view key, bool value) {
  const std::optional<JsonView> member = find(key);
  if (member && member->boolean() != value) member->fail(fmt::format("{} is not supported yet", !value));
}

bool ConfigFields::is_null(std::string_view key) const {
  const Json* member = view_.json().find(key);
  return member != nullptr && member->is_null();
}

void ConfigFields::ignore(std::span<const std::string_view> keys) { inert_.insert(inert_.end(), keys.begin(), keys.end()); }

void ConfigFields::finish() const {
  const auto contains = [](const auto& names, std::string_view key) { return std::find(names.begin(), names.end(), key) != names.end(); };
  for (const JsonMember& member : view_.json().members()) {
    const bool read = contains(known_, member.key);
    if (contains(ignored_, member.key)) {
      if (read) {
        view_.fail(fmt::format("key \"{}\" shapes the model and cannot be ignored; leave it out of --ignore_config_keys", member.key));
      }
      continue;
    }
    if (read || contains(inert_, member.key)) continue;
    std::vector<std::string_view> names(known_.begin(), known_.end());
    names.insert(names.end(), inert_.begin(), inert_.end());
    view_.fail(fmt::format("key \"{0}\" is not known and may change the model{1}; if it does not, give --ignore_config_keys {0}",
                           member.key, nearest_hint(member.key, names)));
  }
}

}  // namespace reprise

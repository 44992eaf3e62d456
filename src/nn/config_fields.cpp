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

void ConfigFields::ignore(std::initializer_list<std::string_view> keys) { known_.insert(known_.end(), keys.begin(), keys.end()); }

void ConfigFields::finish() const {
  for (const JsonMember& member : view_.json().members()) {
    if (std::find(known_.begin(), known_.end(), member.key) != known_.end()) continue;
    const std::vector<std::string_view> names(known_.begin(), known_.end());
    view_.fail(fmt::format("key \"{}\" is not known and may change the model{}", member.key, nearest_hint(member.key, names)));
  }
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
#include "io/json_view.h"

#include <fmt/format.h>

#include "base/error.h"

namespace reprise {
namespace {

constexpr std::size_t kShownCharacters = 40;

/// The value as an error shows it: short, on one line.
std::string shown(const Json& value) {
  if (value.is_array() || value.is_object()) return fmt::format("an {}", json_kind_name(value.kind()));
  std::string text = write_json(value);
  if (text.size() > kShownCharacters) text = text.substr(0, kShownCharacters) + "...";
  return text;
}

std::string with_article(std::string_view kind) {
  const bool vowel = std::string_view("aeiou").find(kind.front()) != std::string_view::npos;
  return fmt::format("{} {}", vowel ? "an" : "a", kind);
}

}  // namespace

JsonView JsonView::child(const Json& value, std::string path) const {
  JsonView view(value, file_);
  view.path_ = std::move(path);
  return view;
}

std::string JsonView::where() const { return path_.empty() ? file_ : file_ + ": " + path_; }

void JsonView::fail(std::string_view what) const { throw UserError(fmt::format("{}: {}", where(), what)); }

void JsonView::require(bool is_kind, std::string_view kind) const {
  if (!is_kind) fail(fmt::format("must be {}, not {}", with_article(kind), shown(*value_)));
}

std::optional<JsonView> JsonView::find(std::string_view key) const {
  require(value_->is_object(), "object");
  const Json* value = value_->find(key);
  if (value == nullptr || value->is_null()) return std::nullopt;
  return child(*value, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key));
}

JsonView JsonView::at(std::string_view key) const {
  const std::optional<JsonView> view = find(key);
  if (!view) fail(fmt::format("key \"{}\" is missing; add it", key));
  return *view;
}

std::size_t JsonView::size() const {
  require(value_->is_array(), "array");
  return value_->items().size();
}

JsonView JsonView::item(std::size_t index) const {
  REPRISE_CHECK(index < size(), fmt::format("item {} of {}", index, size()));
  return child(value_->items()[index], fmt::format("{}[{}]", path_, index));
}

bool JsonView::boolean() const {
  require(value_->is_boolean(), "boolean");
  return value_->boolean();
}

std::int64_t JsonView::integer() const {
  require(value_->is_integer(), "integer");
  return value_->integer();
}

double JsonView::number() const {
  require(value_->is_number(), "number");
  return value_->number();
}

const std::string& JsonView::string() const {
  require(value_->is_string(), "string");
  return value_->string();
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer_component.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tokenizer/utf8.h"

namespace reprise {

namespace {

void flatten(const JsonView& component, std::string_view list_key, std::vector<JsonView>& list) {
  if (component_type(component) != "Sequence") {
    list.push_back(component);
    return;
  }
  require_known_keys(component, {list_key});
  const JsonView items = component.at(list_key);
  for (std::size_t i = 0; i < items.size(); ++i) flatten(items.item(i), list_key, list);
}

}  // namespace

std::string component_type(const JsonView& component) { return component.at("type").string(); }

void refuse_type(const JsonView& component, std::initializer_list<std::string_view> known) {
  component.fail(fmt::format("type \"{}\" is not supported; those that are: {}", component_type(component), fmt::join(known, ", ")));
}

void require_known_keys(const JsonView& component, std::initializer_list<std::string_view> keys) {
  for (const JsonMember& member : component.json().members()) {
    if (member.key == "type" || std::find(keys.begin(), keys.end(), member.key) != keys.end()) continue;
    component.fail(fmt::format("key \"{}\" is not known; those that are: {}", member.key, fmt::join(keys, ", ")));
  }
}

bool boolean_or(const JsonView& component, std::string_view key, bool otherwise) {
  const auto value = component.find(key);
  return value ? value->boolean() : otherwise;
}

std::vector<JsonView> component_list(const Json& component, const std::string& where, std::string_view list_key) {
  std::vector<JsonView> list;
  if (!component.is_null()) flatten(JsonView(component, where), list_key, list);
  return list;
}

char32_t component_character(const JsonView& component, std::string_view key) {
  const JsonView value = component.at(key);
  const std::string& text = value.string();
  const Utf8Step step = text.empty() ? Utf8Step{} : read_utf8(text, 0);
  if (!step.valid || step.length != text.size()) value.fail(fmt::format("must be one character, not \"{}\"", text));
  return step.code_point;
}

}  // namespace reprise

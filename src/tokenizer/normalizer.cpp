// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/normalizer.h"

#include <utility>

#include "tokenizer/tokenizer_component.h"
#include "tokenizer/unicode_compositions.h"

namespace reprise {

namespace {

std::string replaced(std::string_view text, std::string_view pattern, std::string_view content) {
  std::string result;
  result.reserve(text.size() + text.size() / 2);
  for (std::size_t position = 0;;) {
    const std::size_t found = text.find(pattern, position);
    result += text.substr(position, found == std::string_view::npos ? found : found - position);
    if (found == std::string_view::npos) return result;
    result += content;
    position = found + pattern.size();
  }
}

}  // namespace

Normalizer::Normalizer(const Json& component, const std::string& where) {
  for (const JsonView& step : component_list(component, where, "normalizers")) {
    const std::string type = component_type(step);
    if (type == "NFC") {
      require_known_keys(step, {});
      steps_.push_back({Kind::nfc, "", ""});
    } else if (type == "Prepend") {
      require_known_keys(step, {"prepend"});
      steps_.push_back({Kind::prepend, "", step.at("prepend").string()});
    } else if (type == "Replace") {
      require_known_keys(step, {"pattern", "content"});
      const JsonView pattern = step.at("pattern");
      require_known_keys(pattern, {"String"});
      const JsonView text = pattern.at("String");
      if (text.string().empty()) text.fail("must not be empty");
      steps_.push_back({Kind::replace, text.string(), step.at("content").string()});
    } else {
      refuse_type(step, {"NFC", "Prepend", "Replace", "Sequence"});
    }
  }
}

std::string_view Normalizer::apply(std::string_view text, std::string& storage) const {
  for (const Step& step : steps_) {
    std::string next;
    switch (step.kind) {
      case Kind::nfc: {
        if (to_nfc(text, next).data() == text.data()) continue;
        break;
      }
      case Kind::prepend: {
        if (text.empty()) continue;
        next = step.content;
        next += text;
        break;
      }
      case Kind::replace: {
        if (text.find(step.pattern) == std::string_view::npos) continue;
        next = replaced(text, step.pattern, step.content);
        break;
      }
    }
    storage = std::move(next);
    text = storage;
  }
  return text;
}

}  // namespace reprise

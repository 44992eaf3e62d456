// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/post_processor.h"

#include <fmt/format.h>

#include <utility>

#include "tokenizer/tokenizer_component.h"

namespace reprise {

namespace {

std::vector<std::int32_t> ids_of(const JsonView& special_tokens, const JsonView& name) {
  const auto token = special_tokens.find(name.string());
  if (!token) name.fail(fmt::format("\"{}\" is not in special_tokens", name.string()));
  require_known_keys(*token, {"id", "ids", "tokens"});
  const JsonView list = token->at("ids");
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::int64_t id = list.item(i).integer();
    if (id < 0 || id > INT32_MAX) list.item(i).fail(fmt::format("is no token id: {}", id));
    ids.push_back(static_cast<std::int32_t>(id));
  }
  return ids;
}

TextFrame read_template(const JsonView& component) {
  require_known_keys(component, {"single", "pair", "special_tokens"});  // pairs of texts are not ours
  TextFrame frame;
  bool behind = false;
  const JsonView single = component.at("single");
  for (std::size_t i = 0; i < single.size(); ++i) {
    const JsonView piece = single.item(i);
    require_known_keys(piece, {"SpecialToken", "Sequence"});
    if (const auto special = piece.find("SpecialToken")) {
      const auto ids = ids_of(component.at("special_tokens"), special->at("id"));
      auto& side = behind ? frame.after : frame.before;
      side.insert(side.end(), ids.begin(), ids.end());
      continue;
    }
    const JsonView sequence = piece.at("Sequence");
    if (behind || sequence.at("id").string() != "A") sequence.fail("a template other than tokens around one sequence A is not supported");
    behind = true;
  }
  if (!behind) single.fail("a template without sequence A is not supported");
  return frame;
}

}  // namespace

TextFrame read_text_frame(const Json& component, const std::string& where) {
  TextFrame frame;
  for (const JsonView& step : component_list(component, where, "processors")) {
    const std::string type = component_type(step);
    if (type == "ByteLevel") {
      require_known_keys(step, {"add_prefix_space", "use_regex", "trim_offsets"});
    } else if (type == "TemplateProcessing") {
      const TextFrame outer = read_template(step);
      frame.before.insert(frame.before.begin(), outer.before.begin(), outer.before.end());
      frame.after.insert(frame.after.end(), outer.after.begin(), outer.after.end());
    } else {
      refuse_type(step, {"ByteLevel", "Sequence", "TemplateProcessing"});
    }
  }
  return frame;
}

Json write_text_frame(const TextFrame& frame, const std::function<std::string(std::int32_t)>& token_text) {
  if (frame == TextFrame{}) return nullptr;
  Json tokens = Json::object();
  const auto add_tokens = [&](Json& list, const std::vector<std::int32_t>& ids, int type_id) {
    for (const std::int32_t id : ids) {
      const std::string text = token_text(id);
      list.push_back(Json::object({{"SpecialToken", Json::object({{"id", text}, {"type_id", type_id}})}}));
      tokens.set(text, Json::object({{"id", text}, {"ids", Json::array({std::int64_t{id}})}, {"tokens", Json::array({text})}}));
    }
  };
  const auto add = [&](Json& list, const char* sequence, int type_id) {
    add_tokens(list, frame.before, type_id);
    list.push_back(Json::object({{"Sequence", Json::object({{"id", sequence}, {"type_id", type_id}})}}));
    add_tokens(list, frame.after, type_id);
  };
  Json single = Json::array();
  add(single, "A", 0);
  Json pair = Json::array();
  add(pair, "A", 0);
  add(pair, "B", 1);
  return Json::object(
      {{"type", "TemplateProcessing"}, {"single", std::move(single)}, {"pair", std::move(pair)}, {"special_tokens", std::move(tokens)}});
}

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Components around the model are kept as they are written and read by the tokenizer; here the model's tables, the added tokens
// and the special tokens' names are.
#include "tokenizer/tokenizer_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "io/json.h"
#include "io/json_view.h"
#include "tokenizer/char_tokenizer.h"
#include "tokenizer/tokenizer_component.h"
#include "tokenizer/utf8.h"

namespace reprise {

namespace {

constexpr std::size_t kSpread = 4;  // ids may leave gaps, but no id is this many times the number of tokens

std::vector<AddedToken> read_added_tokens(const JsonView& root) {
  std::vector<AddedToken> tokens;
  const auto list = root.find("added_tokens");
  if (!list) return tokens;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const JsonView entry = list->item(i);
    require_known_keys(entry, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    const std::int64_t id = entry.at("id").integer();
    if (id < 0 || id > INT32_MAX) entry.at("id").fail(fmt::format("is no token id: {}", id));
    AddedToken token;
    token.id = static_cast<std::int32_t>(id);
    token.content = entry.at("content").string();
    if (token.content.empty()) entry.at("content").fail("must not be empty");
    token.single_word = boolean_or(entry, "single_word", false);
    token.lstrip = boolean_or(entry, "lstrip", false);
    token.rstrip = boolean_or(entry, "rstrip", false);
    token.special = boolean_or(entry, "special", false);
    token.normalized = boolean_or(entry, "normalized", !token.special);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

/// Returns the two parts of a merge, written as ["a", "b"] or "a b".
std::pair<std::string, std::string> merge_parts(const JsonView& merge) {
  const Json& json = merge.json();
  if (json.is_array() && json.items().size() == 2 && json.items()[0].is_string() && json.items()[1].is_string()) {
    return {json.items()[0].string(), json.items()[1].string()};
  }
  if (json.is_string()) {
    const std::string& text = json.string();
    const std::size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
  }
  merge.fail("must be [\"left\", \"right\"] or \"left right\"");
}

BpeVocabulary read_bpe_vocabulary(const JsonView& model) {
  const JsonView vocab = model.at("vocab");
  vocab.find("");  // requires an object
  const Json::Object& members = vocab.json().members();
  BpeVocabulary vocabulary;
  std::unordered_map<std::string_view, std::int32_t> ids;
  ids.reserve(members.size());
  const auto limit = static_cast<std::int64_t>(kSpread * members.size());
  for (const JsonMember& member : members) {
    if (!member.value.is_integer()) vocab.fail(fmt::format("the id of \"{}\" must be an integer", member.key));
    const std::int64_t id = member.value.integer();
    if (id < 0 || id >= limit) {
      vocab.fail(fmt::format("the id of \"{}\" is out of proportion to {} tokens: {}", member.key, members.size(), id));
    }
    const auto slot = static_cast<std::size_t>(id);
    if (vocabulary.tokens.size() <= slot) vocabulary.tokens.resize(slot + 1);
    if (!vocabulary.tokens[slot].empty()) {
      vocab.fail(fmt::format("two tokens have the same id: \"{}\" and \"{}\", {}", vocabulary.tokens[slot], member.key, id));
    }
    vocabulary.tokens[slot] = member.key;
    ids.emplace(member.key, static_cast<std::int32_t>(id));
  }
  const JsonView merges = model.at("merges");
  vocabulary.merges.reserve(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto [left, right] = merge_parts(merges.item(i));
    const auto first = ids.find(left);
    const auto second = ids.find(right);
    if (first == ids.end() || second == ids.end() || left.empty() || right.empty()) {
      merges.item(i).fail(fmt::format("names a token that is not in \"vocab\": \"{}\" \"{}\"", left, right));
    }
    vocabulary.merges.emplace_back(first->second, second->second);
  }
  return vocabulary;
}

/// Requires that a setting that we do not have is off: missing, null, false, "" or 0.
void require_off(const JsonView& model, std::string_view key) {
  const auto value = model.find(key);
  if (!value) return;
  const Json& json = value->json();
  const bool off =
      (json.is_boolean() && !json.boolean()) || (json.is_string() && json.string().empty()) || (json.is_number() && json.number() == 0);
  if (!off) value->fail("is not supported; the model must do without it");
}

BpeTokenizerParts read_bpe(const JsonView& root, const JsonView& model) {
  require_known_keys(model, {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
                             "ignore_merges", "vocab", "merges"});
  for (const std::string_view key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) require_off(model, key);
  BpeTokenizerParts parts;
  parts.vocabulary = read_bpe_vocabulary(model);
  const auto unknown = model.find("unk_token");
  if (unknown && !unknown->string().empty()) parts.settings.unknown = unknown->string();  // "" in old files: none
  parts.settings.fuse_unknown = boolean_or(model, "fuse_unk", false);
  parts.settings.byte_fallback = boolean_or(model, "byte_fallback", false);
  parts.settings.ignore_merges = boolean_or(model, "ignore_merges", false);
  parts.added = read_added_tokens(root);
  const auto component = [&root](std::string_view key) {
    const auto view = root.find(key);
    return view ? view->json() : Json();
  };
  parts.normalizer = component("normalizer");
  parts.pre_tokenizer = component("pre_tokenizer");
  parts.post_processor = component("post_processor");
  parts.decoder = component("decoder");
  return parts;
}

std::unique_ptr<Tokenizer> read_char(const JsonView& root, const JsonView& model) {
  require_known_keys(model, {"vocab"});
  for (const std::string_view key : {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    if (const auto component = root.find(key)) {
      component->fail(fmt::format("is not supported with a model {}; it must be null", kCharModel));
    }
  }
  if (!read_added_tokens(root).empty()) {
    root.at("added_tokens").fail(fmt::format("is not supported with a model {}; it must be empty", kCharModel));
  }
  const JsonView vocab = model.at("vocab");
  vocab.find("");  // requires an object
  std::vector<char32_t> characters;
  for (const JsonMember& member : vocab.json().members()) {
    const Utf8Step step = member.key.empty() ? Utf8Step{} : read_utf8(member.key, 0);
    if (!step.valid || step.length != member.key.size()) {
      vocab.fail(fmt::format("each token must be one character; \"{}\" is not", member.key));
    }
    const bool ascends = characters.empty() || characters.back() < step.code_point;
    if (!ascends || member.value != Json(static_cast<std::int64_t>(characters.size()))) {
      vocab.fail(fmt::format("must list ids 0, 1, 2, ... by ascending code point; at \"{}\"", member.key));
    }
    characters.push_back(step.code_point);
  }
  if (characters.empty()) vocab.fail("must not be empty");
  return std::make_unique<CharTokenizer>(std::move(characters));
}

std::optional<std::int32_t> find_token(const BpeTokenizerParts& parts, std::string_view text) {
  for (const AddedToken& token : parts.added) {
    if (token.content == text) return token.id;
  }
  const auto& tokens = parts.vocabulary.tokens;
  const auto found = std::find(tokens.begin(), tokens.end(), text);
  if (found == tokens.end() || text.empty()) return std::nullopt;
  return static_cast<std::int32_t>(found - tokens.begin());
}

/// Reads a name: a string, or an object with the string under "content", as added tokens are written.
void read_special(const JsonView& file, std::string_view key, const BpeTokenizerParts& parts, std::optional<std::int32_t>& id) {
  const auto value = file.find(key);
  if (!value || id) return;
  const JsonView name = value->json().is_object() ? value->at("content") : *value;
  id = find_token(parts, name.string());
  if (!id) name.fail(fmt::format("names a token that tokenizer.json does not have: \"{}\"", name.string()));
}

void read_specials(const JsonView& file, BpeTokenizerParts& parts) {
  read_special(file, "bos_token", parts, parts.special.bos);
  read_special(file, "eos_token", parts, parts.special.eos);
  read_special(file, "pad_token", parts, parts.special.pad);
}

/// Puts the token at one side of the frame, or takes it away, as add_bos_token and add_eos_token say.
void apply_side(const JsonView& config, std::string_view key, std::optional<std::int32_t> id, bool front, std::vector<std::int32_t>& side) {
  const auto wanted = config.find(key);
  if (!wanted || !id) {
    if (wanted && wanted->boolean()) wanted->fail("needs the name of the token; add it");
    return;
  }
  const bool there = !side.empty() && (front ? side.front() : side.back()) == *id;
  if (wanted->boolean() == there) return;
  const auto place = front ? side.begin() : there ? side.end() - 1 : side.end();
  if (there) side.erase(place);
  else side.insert(place, *id);
}

void read_config(const JsonView& config, BpeTokenizerParts& parts, const std::string& where) {
  read_specials(config, parts);
  TextFrame frame = read_text_frame(parts.post_processor, where + ": post_processor");
  const TextFrame written = frame;
  apply_side(config, "add_bos_token", parts.special.bos, true, frame.before);
  apply_side(config, "add_eos_token", parts.special.eos, false, frame.after);
  if (frame == written) return;
  parts.post_processor = write_text_frame(frame, [&](std::int32_t id) { return token_name(parts, parts.vocabulary, id); });
}

}  // namespace

std::unique_ptr<Tokenizer> parse_tokenizer_files(const TokenizerFiles& files) {
  const Json json = parse_json(files.json, files.path);
  const JsonView root(json, files.path);
  for (const std::string_view key : {"truncation", "padding"}) {
    if (const auto component = root.find(key)) component->fail("is not supported; it must be null");
  }
  require_known_keys(
      root, {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder", "model"});
  const JsonView model = root.at("model");
  const std::string type = model.find("type") || !model.find("merges") ? component_type(model) : "BPE";  // old files have no type
  if (type == kCharModel) return read_char(root, model);
  if (type != "BPE") refuse_type(model, {"BPE", kCharModel});
  BpeTokenizerParts parts = read_bpe(root, model);
  if (!files.config.empty()) {
    const Json config = parse_json(files.config, files.config_path);
    read_config(JsonView(config, files.config_path), parts, files.path);
  }
  if (!files.map.empty()) {
    const Json map = parse_json(files.map, files.map_path);
    read_specials(JsonView(map, files.map_path), parts);
  }
  return std::make_unique<BpeTokenizer>(std::move(parts), files.path);
}

std::unique_ptr<Tokenizer> parse_tokenizer(std::string_view json, const std::string& path) {
  return parse_tokenizer_files({.path = path, .json = std::string(json), .config_path = {}, .config = {}, .map_path = {}, .map = {}});
}

}  // namespace reprise

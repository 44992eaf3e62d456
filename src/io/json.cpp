// SPDX-License-Identifier: Apache-2.0
#include "io/json.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace reprise {
namespace {

[[noreturn]] void fail_kind(Json::Kind wanted, Json::Kind actual) {
  throw InternalError(fmt::format("a JSON {} was read as {}", json_kind_name(actual), json_kind_name(wanted)));
}

}  // namespace

std::string_view json_kind_name(Json::Kind kind) {
  switch (kind) {
    case Json::Kind::null: return "null";
    case Json::Kind::boolean: return "boolean";
    case Json::Kind::integer: return "integer";
    case Json::Kind::number: return "number";
    case Json::Kind::string: return "string";
    case Json::Kind::array: return "array";
    case Json::Kind::object: return "object";
  }
  return "";
}

Json::Json() = default;
Json::Json(std::nullptr_t) {}
Json::Json(bool value) : value_(value) {}
Json::Json(int value) : value_(std::int64_t{value}) {}
Json::Json(std::int64_t value) : value_(value) {}
Json::Json(double value) : value_(value) {}
Json::Json(std::string value) : value_(std::move(value)) {}
Json::Json(std::string_view value) : value_(std::string(value)) {}
Json::Json(const char* value) : value_(std::string(value)) {}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json Json::count(std::uint64_t value) {
  REPRISE_CHECK(value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()),
                fmt::format("count {} does not fit a JSON integer", value));
  return Json(static_cast<std::int64_t>(value));
}

Json Json::array(std::vector<Json> items) {
  Json json;
  json.value_ = std::move(items);
  return json;
}

Json Json::object(std::initializer_list<JsonMember> members) {
  Json json;
  json.value_ = Object(members);
  return json;
}

bool Json::boolean() const {
  if (const bool* value = std::get_if<bool>(&value_)) return *value;
  fail_kind(Kind::boolean, kind());
}

std::int64_t Json::integer() const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  fail_kind(Kind::integer, kind());
}

double Json::number() const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  fail_kind(Kind::number, kind());
}

const std::string& Json::string() const {
  if (const auto* value = std::get_if<std::string>(&value_)) return *value;
  fail_kind(Kind::string, kind());
}

const Json::Array& Json::items() const {
  if (const auto* value = std::get_if<Array>(&value_)) return *value;
  fail_kind(Kind::array, kind());
}

Json::Array& Json::items() {
  if (auto* value = std::get_if<Array>(&value_)) return *value;
  fail_kind(Kind::array, kind());
}

const Json::Object& Json::members() const {
  if (const auto* value = std::get_if<Object>(&value_)) return *value;
  fail_kind(Kind::object, kind());
}

Json::Object& Json::members() {
  if (auto* value = std::get_if<Object>(&value_)) return *value;
  fail_kind(Kind::object, kind());
}

const Json* Json::find(std::string_view key) const {
  if (const auto* object = std::get_if<Object>(&value_)) {
    for (const JsonMember& member : *object) {
      if (member.key == key) return &member.value;
    }
  }
  return nullptr;
}

void Json::set(std::string_view key, Json value) {
  if (is_null()) value_ = Object();
  auto* object = std::get_if<Object>(&value_);
  if (object == nullptr) fail_kind(Kind::object, kind());
  for (JsonMember& member : *object) {
    if (member.key == key) {
      member.value = std::move(value);
      return;
    }
  }
  object->push_back({std::string(key), std::move(value)});
}

void Json::push_back(Json value) {
  if (is_null()) value_ = Array();
  items().push_back(std::move(value));
}

bool operator==(const Json& a, const Json& b) { return a.value_ == b.value_; }

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// A JSON value: model configs and tokenizers are read into it, metrics, reports and checkpoint state written from it.
// Objects keep the order of their keys. Integers are exact in 64 bits; other numbers survive writing and reading bit
// for bit. JSON has no NaN and no infinity: they are written as null.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace reprise {

struct JsonMember;

class Json {
 public:
  enum class Kind { null, boolean, integer, number, string, array, object };
  using Array = std::vector<Json>;
  using Object = std::vector<JsonMember>;

  // Defined in the source: JsonMember, which is inside the value, must be complete first.
  Json();
  Json(std::nullptr_t);         // NOLINT: values are written as literals
  Json(bool value);             // NOLINT
  Json(int value);              // NOLINT
  Json(std::int64_t value);     // NOLINT
  Json(double value);           // NOLINT
  Json(std::string value);      // NOLINT
  Json(std::string_view value); // NOLINT
  Json(const char* value);      // NOLINT
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();
  /// An unsigned count; InternalError above 2^63 - 1.
  static Json count(std::uint64_t value);
  static Json array(std::vector<Json> items = {});
  static Json object(std::initializer_list<JsonMember> members = {});

  Kind kind() const { return static_cast<Kind>(value_.index()); }
  bool is_null() const { return kind() == Kind::null; }
  bool is_boolean() const { return kind() == Kind::boolean; }
  bool is_integer() const { return kind() == Kind::integer; }
  /// True for integers too.
  bool is_number() const { return kind() == Kind::number || is_integer(); }
  bool is_string() const { return kind() == Kind::string; }
  bool is_array() const { return kind() == Kind::array; }
  bool is_object() const { return kind() == Kind::object; }

  /// The typed content; InternalError when the kind is another (ask first, or read through JsonView).
  bool boolean() const;
  std::int64_t integer() const;
  double number() const;  // an integer converts
  const std::string& string() const;
  const Array& items() const;
  Array& items();
  const Object& members() const;
  Object& members();

  /// Returns the member called `key`, or null when there is none or this is no object. Linear in the members.
  const Json* find(std::string_view key) const;
  /// Sets a member of this object, at the end if it is new. A null becomes an object first.
  void set(std::string_view key, Json value);
  /// Adds an item to this array. A null becomes an array first.
  void push_back(Json value);

  friend bool operator==(const Json&, const Json&);

 private:
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object> value_;
};

struct JsonMember {
  std::string key;
  Json value;

  friend bool operator==(const JsonMember&, const JsonMember&) = default;
};

/// "null", "boolean", "integer", "number", "string", "array", "object".
std::string_view json_kind_name(Json::Kind kind);

/// Parses a whole text. UserError naming `name`, line and column for a syntax error, invalid UTF-8, a key that stands
/// twice in an object, or nesting deeper than 256. Integers outside 64 bits become doubles.
Json parse_json(std::string_view text, std::string_view name);
/// Reads and parses a file.
Json read_json(const std::filesystem::path& path);

/// Returns the text of `value`: on one line when `indent` is 0 (for JSON lines), without a space when it is
/// `kCompact`, else indented by that many spaces.
/// Doubles are the shortest that read back equal and always carry a point or an exponent; bytes that are not UTF-8 become U+FFFD.
inline constexpr int kCompact = -1;
std::string write_json(const Json& value, int indent = 0);

}  // namespace reprise

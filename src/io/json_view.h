// SPDX-License-Identifier: Apache-2.0
// Reading a parsed file that a person wrote: a view knows the file and the keys that lead to its value, so that a
// missing key or a wrong kind is an error that says where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/json.h"

namespace reprise {

class JsonView {
 public:
  /// Views `root`, which must outlive the view and what is made from it; errors name `file`.
  JsonView(const Json& root, std::string file) : value_(&root), file_(std::move(file)) {}

  const Json& json() const { return *value_; }

  /// The member `key`. UserError when it is missing or this is no object.
  JsonView at(std::string_view key) const;
  /// The member `key`, or nothing when it is missing or null. UserError when this is no object.
  std::optional<JsonView> find(std::string_view key) const;
  /// Items of an array; UserError when this is none.
  std::size_t size() const;
  JsonView item(std::size_t index) const;

  /// The content; UserError when the kind is another. An integer is a number too.
  bool boolean() const;
  std::int64_t integer() const;
  double number() const;
  const std::string& string() const;

  /// "config.json: rope_scaling.factor", for errors about a value of the right kind.
  std::string where() const;
  /// Throws UserError "WHERE: WHAT".
  [[noreturn]] void fail(std::string_view what) const;

 private:
  JsonView child(const Json& value, std::string path) const;
  void require(bool is_kind, std::string_view kind) const;

  const Json* value_;
  std::string file_;
  std::string path_;
};

}  // namespace reprise

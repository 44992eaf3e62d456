// SPDX-License-Identifier: Apache-2.0
// What reading the components of a tokenizer.json has in common: each is an object with a type, and no key is passed over.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_view.h"

namespace reprise {

/// Returns the "type" of a component. UserError when it has none.
std::string component_type(const JsonView& component);

/// Throws UserError "WHERE: type "X" is not supported; use one of KNOWN".
[[noreturn]] void refuse_type(const JsonView& component, std::initializer_list<std::string_view> known);

/// Requires that a component has no keys besides "type" and those given. UserError naming the first other one.
void require_known_keys(const JsonView& component, std::initializer_list<std::string_view> keys);

/// Returns the boolean `key`, or `otherwise` when it is not there.
bool boolean_or(const JsonView& component, std::string_view key, bool otherwise);

/// Returns the components of a "Sequence" flattened, a single one as a list of one, null as none. `list_key` is the key of the
/// list in a Sequence.
std::vector<JsonView> component_list(const Json& component, const std::string& where, std::string_view list_key);

/// Returns the one character that the string `key` is. UserError when it is not one.
char32_t component_character(const JsonView& component, std::string_view key);

}  // namespace reprise

// SPDX-License-Identifier: Apache-2.0
// Reading the fields of a user op's node.
#pragma once

#include <initializer_list>
#include <string_view>

#include "ir/trace.h"

namespace reprise {

/// Returns the field `name` as T: bool, std::int64_t, double, std::string, Ints or std::vector<double>; a whole number is a double
/// too. UserError naming the op when the field is missing or of another kind.
template <class T>
T custom_field(const Node& node, std::string_view name);
/// The same, or `otherwise` where the field is not given.
template <class T>
T custom_field(const Node& node, std::string_view name, T otherwise);

/// UserError naming the op and the nearest name when the node has a field that is not among `known`.
void require_known_fields(const Node& node, std::initializer_list<std::string_view> known);

}  // namespace reprise

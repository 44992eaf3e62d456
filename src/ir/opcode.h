// SPDX-License-Identifier: Apache-2.0
// Opcodes: an open registry of names. The built-in ones are constants in namespace `op`; users add more at run time.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace reprise {

/// An index into the registry of op names. Ids of user ops follow registration order: order by name, never by id.
struct Opcode {
  std::uint16_t index = 0;
  friend constexpr bool operator==(Opcode, Opcode) = default;
  friend constexpr auto operator<=>(Opcode, Opcode) = default;
};

namespace op {
namespace detail {
enum class Index : std::uint16_t {
#define REPRISE_OP(name, attrs) name##_,
#include "ir/opcodes.def"
#undef REPRISE_OP
  count,
};
}  // namespace detail

#define REPRISE_OP(name, attrs) inline constexpr Opcode name{static_cast<std::uint16_t>(detail::Index::name##_)};
#include "ir/opcodes.def"
#undef REPRISE_OP
}  // namespace op

inline constexpr std::size_t kBuiltinOpcodeCount = static_cast<std::size_t>(op::detail::Index::count);

std::string_view opcode_name(Opcode opcode);
/// Returns the opcode called `name`, if there is one ("add_" is the in-place twin of "add", not an opcode of its own).
std::optional<Opcode> find_opcode(std::string_view name);
/// Number of opcodes, user ops included.
std::size_t opcode_count();
/// Adds a user op, whose attributes are CustomAttrs; UserError when the name is taken or not snake_case. Thread safe.
Opcode register_opcode(std::string_view name);

}  // namespace reprise

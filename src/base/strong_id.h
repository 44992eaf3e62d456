// SPDX-License-Identifier: Apache-2.0
// Strongly typed indices: a ValueId is never a NodeId, and neither is an int.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace reprise {

/// An index into some vector, typed by Tag. A default-constructed id is invalid.
template <class Tag>
struct StrongId {
  static constexpr std::uint32_t kInvalid = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t value = kInvalid;

  constexpr StrongId() = default;
  constexpr explicit StrongId(std::size_t index) : value(static_cast<std::uint32_t>(index)) {}

  constexpr bool valid() const { return value != kInvalid; }
  constexpr std::size_t index() const { return value; }

  friend constexpr bool operator==(StrongId, StrongId) = default;
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
};

}  // namespace reprise

template <class Tag>
struct std::hash<reprise::StrongId<Tag>> {
  std::size_t operator()(reprise::StrongId<Tag> id) const noexcept { return std::hash<std::uint32_t>{}(id.value); }
};

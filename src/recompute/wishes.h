// SPDX-License-Identifier: Apache-2.0
// What is wanted of every forward storage: tags, regions and the policy brought together in one order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/interned.h"
#include "recompute/flow.h"
#include "recompute/policy.h"
#include "recompute/save_list.h"

namespace reprise {

/// A wish for the storage of a value, and who has it.
struct Wish {
  enum class Kind : std::uint8_t { keep, again };
  Kind kind = Kind::keep;
  Interned why;
  bool open = false;  // no one asked: `auto` may decide otherwise
};

struct Wishes {
  std::vector<Wish> of;  // by value; those of owners made in forward count
  /// By value: views of which a dense copy is kept, so that their storage need not; views that are made again of such.
  std::vector<bool> copied_views;
  std::vector<bool> remade_views;
  /// By node: the outermost region that runs again as a whole when any of it does, and whether its policy has this node run
  /// again, or keeps its first output, whether or not anything reads it. Empty: none.
  std::vector<Interned> replay_region;
  std::vector<bool> replays;
  std::vector<bool> listed;
};

/// Decides, strongest first: `must_save` and `must_recompute` tags; `prefer_save` and `prefer_recompute` tags of the user;
/// the policies of the regions that a value does not leave, of which any may ask to make it again; the step's policy, within
/// the block that the value does not leave. What may run once only is kept; UserError when a tag asks otherwise, when tags
/// of one storage contradict each other (both sources are named), for `offload`, and for patterns that match nothing.
Wishes resolve_wishes(const ForwardFlow& flow, const PolicySpec& policy, const SaveList& save_list);

}  // namespace reprise

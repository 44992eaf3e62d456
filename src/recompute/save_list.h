// SPDX-License-Identifier: Apache-2.0
// Save lists: the ops whose outputs are worth keeping, by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/opcode.h"

namespace reprise {

/// A set of ops, kept in order of name.
class SaveList {
 public:
  bool contains(Opcode opcode) const;
  void add(Opcode opcode);
  /// Adds all of the default list.
  void add_default();
  /// Whether that was done: who asks for it does not name each of its ops.
  bool takes_default() const { return takes_default_; }
  const std::vector<Opcode>& ops() const { return ops_; }
  /// Names in order.
  std::vector<std::string> names() const;
  friend bool operator==(const SaveList&, const SaveList&) = default;

 private:
  std::vector<Opcode> ops_;
  bool takes_default_ = false;
};

/// Matrix products, attention, collectives, the maximum that scales are made of (amax), and top-k.
SaveList default_save_list();

/// The list that holds the ops called `names`; "default" stands for the default list. UserError with the nearest name for
/// a name that no op has; `where` begins the message ("the save list of FILE, line 3").
SaveList save_list_of(const std::vector<std::string>& names, std::string_view where);

/// Reads a list: a name a line, '#' starts a comment. UserError naming `file` and the line.
SaveList parse_save_list(std::string_view text, std::string_view file);

}  // namespace reprise

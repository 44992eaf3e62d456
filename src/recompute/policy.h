// SPDX-License-Identifier: Apache-2.0
// What is asked for: the policy of a whole step, and how it is carried out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

/// A policy by its text: "full", "layers:2", "ops:list.txt", "alternate:*.gate", "regions:block0,block1*", "file:plan.txt".
/// A block is an outermost checkpoint region; values outside every block are kept.
struct PolicySpec {
  enum class Kind : std::uint8_t {
    none,       // keep what backward reads
    tags,       // what the model's code says, and nothing else
    full,       // every block keeps its inputs only
    layers,     // every N-th block is full, the first one included
    ops,        // blocks keep the outputs of the ops of a save list
    alternate,  // as ops, but of a block's matrix products with weights only the first, third, ...
    regions,    // of the regions only those that match keep their values
    automatic,  // "auto": what costs no time to make again is made again, where that saves bytes
    file,       // a plan written before
  };
  Kind kind = Kind::none;
  std::int64_t every = 0;          // layers
  std::string path;                // ops, file: the file, or nothing
  std::vector<std::string> globs;  // alternate: modules whose weight shapes are never kept; regions: names of regions

  std::string str() const;
  friend bool operator==(const PolicySpec&, const PolicySpec&) = default;
};

/// Reads the text form. UserError with the nearest name and the forms there are.
PolicySpec parse_policy(std::string_view text);

}  // namespace reprise

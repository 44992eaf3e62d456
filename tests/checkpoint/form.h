// SPDX-License-Identifier: Apache-2.0
// The forms of activation checkpointing that were measured (figures_checkpoint.h), each with what asks reprise for the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/region.h"

namespace reprise::test {

struct Form {
  std::string name;
  RegionPolicy region;       // of the regions in the model
  bool plain = false;        // recompute `none`: regions are not looked at
  bool early_stop = true;
  bool functional = false;   // new values instead of changes in place
  bool tags_products = false;  // every product in a region is tagged prefer_save
  std::int64_t width = 512;  // of the case three_linears
};

/// The form called `name`; std::runtime_error for one that is not known.
Form form_of(std::string_view name);

}  // namespace reprise::test

// SPDX-License-Identifier: Apache-2.0
// The cotangents collected on the way back: one value per forward value, summed as contributions arrive.
#pragma once

#include <vector>

#include "ops/builder.h"

namespace reprise {

class Cotangents {
 public:
  /// `count`: number of forward values. Sums are emitted through `b`.
  Cotangents(Builder& b, std::size_t count) : b_(b), sum_(count), parts_(count) {}

  /// The cotangent of `value` so far, or an invalid id. Parts that were waiting are joined by nodes emitted now.
  ValueId of(ValueId value);

  /// Adds a cotangent of all of `value`.
  void add(ValueId value, ValueId contribution);

  /// Adds a cotangent of the indices [start, stop) of dimension `dim` of `value`. Parts that do not overlap are joined by one `cat`, with
  /// zeros in gaps, where a sum of padded arrays would write each of them whole: what a projection that was split comes to. A part that
  /// does overlap is added. The join is emitted in the context of the part that came last.
  void add_part(ValueId value, std::size_t dim, std::int64_t start, std::int64_t stop, ValueId contribution);

 private:
  struct Part {
    std::size_t dim;
    std::int64_t start, stop;
    ValueId cotangent;
  };
  struct Parts {
    std::vector<Part> list;  // along one dimension, ascending
    Builder::Context context;
  };

  void sum(ValueId value, ValueId contribution);
  ValueId zeros(ValueId like, const Part& gap);
  ValueId joined(ValueId value, const std::vector<Part>& list);

  Builder& b_;
  std::vector<ValueId> sum_;
  std::vector<Parts> parts_;
};

}  // namespace reprise

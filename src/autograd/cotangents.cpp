// SPDX-License-Identifier: Apache-2.0
#include "autograd/cotangents.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ops/builders.h"

namespace reprise {

void Cotangents::sum(ValueId value, ValueId contribution) {
  ValueId& total = sum_[value.index()];
  total = total.valid() ? ops::add(b_, total, contribution) : contribution;
}

void Cotangents::add(ValueId value, ValueId contribution) {
  REPRISE_CHECK(b_.type(contribution) == b_.type(value),
                fmt::format("a cotangent of {} has the wrong type: {} for {}", b_.trace()[value].name, b_.type(contribution).str(),
                            b_.type(value).str()));
  sum(value, contribution);
}

void Cotangents::add_part(ValueId value, std::size_t dim, std::int64_t start, std::int64_t stop, ValueId contribution) {
  const Part part{dim, start, stop, contribution};
  Parts& parts = parts_[value.index()];
  const auto apart = [&](const Part& other) { return other.dim == dim && (other.stop <= start || stop <= other.start); };
  if (!std::all_of(parts.list.begin(), parts.list.end(), apart)) {
    sum(value, joined(value, {part}));
    return;
  }
  const auto after = std::find_if(parts.list.begin(), parts.list.end(), [&](const Part& other) { return other.start >= stop; });
  parts.list.insert(after, part);
  parts.context = b_.context;
}

ValueId Cotangents::of(ValueId value) {
  Parts& waiting = parts_[value.index()];
  if (!waiting.list.empty()) {
    const Parts parts = std::exchange(waiting, {});
    const Builder::Context here = std::exchange(b_.context, parts.context);
    sum(value, joined(value, parts.list));
    b_.context = here;
  }
  return sum_[value.index()];
}

ValueId Cotangents::zeros(ValueId like, const Part& gap) {
  const Shape whole = b_.shape(like);
  Shape shape;
  for (std::size_t d = 0; d < whole.rank(); ++d) shape.append(d == gap.dim ? Dim{gap.stop - gap.start, {}} : whole.dim(d));
  return ops::full(b_, shape, b_.dtype(like), 0);
}

ValueId Cotangents::joined(ValueId value, const std::vector<Part>& list) {
  const std::size_t dim = list.front().dim;
  const std::int64_t size = b_.shape(value)[dim];
  if (list.size() == 1) return ops::pad_dim(b_, list[0].cotangent, dim, list[0].start, size - list[0].stop);
  std::vector<ValueId> pieces;
  std::int64_t end = 0;
  for (const Part& part : list) {
    if (part.start > end) pieces.push_back(zeros(value, {dim, end, part.start, {}}));
    pieces.push_back(part.cotangent);
    end = part.stop;
  }
  if (end < size) pieces.push_back(zeros(value, {dim, end, size, {}}));
  return ops::cat(b_, std::move(pieces), static_cast<std::int64_t>(dim));
}

}  // namespace reprise

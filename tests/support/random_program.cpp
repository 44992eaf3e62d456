// SPDX-License-Identifier: Apache-2.0
#include "support/random_program.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "ops/builders.h"

namespace reprise::test {
namespace {

constexpr std::int64_t kMaxElements = 96;

class Generator {
 public:
  Generator(std::uint64_t seed, const ProgramOptions& options) : options_(options), random_(seed) {
    trace_.name = "random";
  }

  Trace run() {
    const int inputs = 2 + pick(3);
    for (int i = 0; i < inputs; ++i) add_input(random_shape(1 + static_cast<std::size_t>(pick(3))));
    for (int i = 0; i < options_.steps; ++i) step();
    finish();
    return std::move(trace_);
  }

 private:
  /// A value that may be read, and whether an in-place node may write it: elements in places of their own.
  struct Entry {
    ValueId id;
    bool writable = true;
  };

  int pick(int count) { return static_cast<int>(random_() % static_cast<std::uint64_t>(count)); }
  bool chance(int percent) { return pick(100) < percent; }
  double number(double low, double high) { return low + (high - low) * static_cast<double>(random_() >> 40) * 0x1p-24; }
  std::size_t pick_index(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  Shape random_shape(std::size_t rank) {
    Shape shape;
    for (std::size_t i = 0; i < rank; ++i) shape.append(1 + pick(4));
    return shape;
  }

  ValueId add_input(const Shape& shape) {
    const Role role = chance(50) ? Role::param : Role::state;
    const ValueId id = trace_.add_input({DType::float64, shape, Device::cpu}, role, "x");
    pool_.push_back({id, role == Role::state});
    return id;
  }

  Entry any() {
    const std::size_t recent = std::min<std::size_t>(pool_.size(), 5);
    return chance(60) ? pool_[pool_.size() - 1 - pick_index(recent)] : pool_[pick_index(pool_.size())];
  }
  std::optional<Entry> any_of_rank(std::size_t least) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      const Entry entry = any();
      if (shape(entry.id).rank() >= least) return entry;
    }
    return std::nullopt;
  }
  Shape shape(ValueId id) const { return trace_.type(id).shape; }

  void push(ValueId id, bool writable = true) { pool_.push_back({id, writable}); }

  void step() {
    b_.context.phase = Phase::forward;
    b_.context.module = chance(50) ? Interned("block" + std::to_string(pick(3))) : Interned();
    switch (pick(11)) {
      case 0:
      case 1: return push(unary(any().id));
      case 2:
      case 3: return push(binary());
      case 4: return reduction();
      case 5:
      case 6: return view();
      case 7: return movement();
      case 8: return product();
      case 9: return options_.in_place ? write() : push(unary(any().id));
      default: return special();
    }
  }

  // Guards keep arguments away from poles and results small.
  ValueId above(ValueId x, double least) { return ops::add_scalar(b_, ops::square(b_, ops::tanh(b_, x)), least); }

  ValueId unary(ValueId x) {
    switch (pick(20)) {
      case 0: return ops::neg(b_, x);
      case 1: return ops::square(b_, ops::tanh(b_, x));
      case 2: return ops::exp(b_, ops::tanh(b_, x));
      case 3: return ops::unary(b_, op::sin, x);
      case 4: return ops::unary(b_, op::cos, x);
      case 5: return ops::sigmoid(b_, x);
      case 6: return ops::silu(b_, x);
      case 7: return ops::gelu(b_, x, chance(50));
      case 8: return ops::unary(b_, op::softplus, x);
      case 9: return ops::unary(b_, op::logsigmoid, x);
      case 10: return ops::unary(b_, op::erf, x);
      case 11: return ops::mul_scalar(b_, x, number(-1.2, 1.2));
      case 12: return ops::add_scalar(b_, x, number(-1, 1));
      case 13: return ops::softcap(b_, x, number(1, 3));
      case 14: return ops::log(b_, above(x, 0.5));
      case 15: return ops::sqrt(b_, above(x, 0.5));
      case 16: return ops::rsqrt(b_, above(x, 0.5));
      case 17: return ops::reciprocal(b_, above(x, 0.7));
      case 18: return ops::pow_scalar(b_, above(x, 0.5), number(-1.5, 2.5));
      default: return ops::tanh(b_, x);
    }
  }

  /// A pool value that broadcasts with `x` without growing it much, or x's own last dimension.
  ValueId partner(ValueId x) {
    for (int attempt = 0; attempt < 12; ++attempt) {
      const ValueId y = any().id;
      if (broadcast_size(shape(x), shape(y)).value_or(kMaxElements + 1) <= kMaxElements) return y;
    }
    const Shape s = shape(x);
    return s.rank() == 0 ? x : add_input(Shape{s.back()});
  }

  static std::optional<std::int64_t> broadcast_size(const Shape& x, const Shape& y) {
    std::int64_t size = 1;
    for (std::size_t i = 0; i < std::max(x.rank(), y.rank()); ++i) {
      const std::int64_t a = i < x.rank() ? x[x.rank() - 1 - i] : 1;
      const std::int64_t c = i < y.rank() ? y[y.rank() - 1 - i] : 1;
      if (a != c && a != 1 && c != 1) return std::nullopt;
      size *= a == 1 ? c : a;
    }
    return size;
  }

  ValueId binary() {
    const ValueId x = any().id;
    const ValueId y = partner(x);
    switch (pick(8)) {
      case 0: return ops::add(b_, x, y);
      case 1: return ops::sub(b_, x, y);
      case 2: return ops::mul(b_, x, ops::tanh(b_, y));
      case 3: return ops::div(b_, x, above(y, 0.7));
      case 4: return ops::lerp(b_, x, y, number(0, 1));
      case 5: return ops::addcmul(b_, x, y, ops::sigmoid(b_, x), number(-1, 1));
      case 6: return ops::where(b_, mask(shape(x)), x, y);
      default: return ops::binary(b_, op::pow, above(x, 0.5), ops::tanh(b_, y));
    }
  }

  /// Every second element or so, along the last dimension.
  ValueId mask(const Shape& s) {
    const std::int64_t extent = s.rank() == 0 ? 1 : s.back();
    const ValueId places = ops::iota(b_, extent, DType::int64, 0, 1);
    const ValueId bound = ops::full(b_, Shape{}, DType::int64, pick(3));
    return s.rank() == 0 ? ops::reshape(b_, ops::binary(b_, op::lt, places, bound), Shape{}) : ops::binary(b_, op::lt, places, bound);
  }

  void reduction() {
    const std::optional<Entry> entry = any_of_rank(1);
    if (!entry) return;
    const ValueId x = entry->id;
    const auto dim = static_cast<std::int64_t>(pick_index(shape(x).rank()));
    const std::int64_t count = shape(x)[static_cast<std::size_t>(dim)];
    const bool keep = chance(50);
    switch (pick(9)) {
      case 0: return push(ops::sum(b_, x, Ints{dim}, keep));
      case 1: return push(ops::mean(b_, x, Ints{-1}, keep));
      case 2: return push(ops::reduce(b_, op::var, x, Ints{dim}, keep, count > 1 ? pick(2) : 0));
      case 3: return push(ops::reduce(b_, op::norm2, above(x, 0.3), Ints{dim}, keep));
      case 4: return push(ops::softmax(b_, x, dim));
      case 5: return push(ops::log_softmax(b_, x, dim));
      case 6: return push(ops::logsumexp(b_, x, dim));
      case 7: return push(ops::cumsum(b_, x, dim, chance(50)));
      default: return push(ops::mean(b_, x, std::nullopt, keep));
    }
  }

  /// The shape's elements in other dimensions.
  Shape regrouped(const Shape& s) {
    std::int64_t left = s.numel();
    Shape result;
    while (left > 1 && result.rank() < 3) {
      std::vector<std::int64_t> factors;
      for (std::int64_t f = 1; f <= left; ++f) {
        if (left % f == 0) factors.push_back(f);
      }
      const std::int64_t f = factors[pick_index(factors.size())];
      result.append(f);
      left /= f;
    }
    result.append(left);
    return result;
  }

  void view() {
    const Entry entry = any();
    const ValueId x = entry.id;
    const Shape s = shape(x);
    const std::size_t rank = s.rank();
    if (rank == 0) return push(ops::unsqueeze(b_, x, {0}), entry.writable);
    const auto dim = static_cast<std::int64_t>(pick_index(rank));
    const std::int64_t extent = s[static_cast<std::size_t>(dim)];
    switch (pick(9)) {
      case 0: return push(ops::reshape(b_, x, regrouped(s)), entry.writable);
      case 1: {
        Ints order(rank);
        for (std::size_t i = 0; i < rank; ++i) order[i] = static_cast<std::int64_t>(i);
        for (std::size_t i = rank; i > 1; --i) std::swap(order[i - 1], order[pick_index(i)]);
        return push(ops::permute(b_, x, order), entry.writable);
      }
      case 2: {
        const std::int64_t start = pick(static_cast<int>(extent));
        const std::int64_t stop = start + 1 + pick(static_cast<int>(extent - start));
        return push(ops::slice(b_, x, dim, start, stop, 1 + pick(2)), entry.writable);
      }
      case 3: return push(ops::select(b_, x, dim, pick(static_cast<int>(extent))), entry.writable);
      case 4:
        if (rank >= 4) return;
        return push(ops::unsqueeze(b_, x, {dim}), entry.writable);
      case 5: {
        if (rank >= 4 || s.numel() * 3 > kMaxElements) return;
        Shape wide{2 + pick(2)};
        for (std::size_t i = 0; i < rank; ++i) wide.append(s[i]);
        return push(ops::expand(b_, x, wide), false);
      }
      case 6:
        if (rank < 2) return;
        return push(ops::diagonal(b_, x, pick(2) == 0 || s.back() < 2 ? 0 : 1), entry.writable);
      case 7:
        if (rank >= 4 || s.numel() * 3 > kMaxElements) return;
        return push(ops::unfold(b_, x, dim, std::min<std::int64_t>(2, extent), 1), false);
      default: {
        const ValueId dense = ops::copy(b_, x);
        const std::int64_t count = s.numel();
        const std::int64_t stride = 1 + pick(2);
        const std::int64_t offset = pick(static_cast<int>(count));
        return push(ops::as_strided(b_, dense, Shape{(count - 1 - offset) / stride + 1}, {stride}, offset), true);
      }
    }
  }

  void movement() {
    const std::optional<Entry> entry = any_of_rank(1);
    if (!entry) return;
    const ValueId x = entry->id;
    const Shape s = shape(x);
    const auto dim = static_cast<std::int64_t>(pick_index(s.rank()));
    const std::int64_t extent = s[static_cast<std::size_t>(dim)];
    const bool small = s.numel() * 2 <= kMaxElements;
    switch (pick(8)) {
      case 0: return small ? push(ops::cat(b_, {x, unary(x)}, dim)) : void();
      case 1: return push(ops::flip(b_, x, {dim}));
      case 2: return push(ops::roll(b_, x, 1 + pick(3), dim));
      case 3: {
        Ints before(s.rank(), 0);
        Ints after(s.rank(), 0);
        before[static_cast<std::size_t>(dim)] = pick(2);
        after[static_cast<std::size_t>(dim)] = 1;
        return small ? push(ops::pad(b_, x, before, after, number(-1, 1))) : void();
      }
      case 4: return s.rank() >= 2 ? push(chance(50) ? ops::tril(b_, x, pick(2)) : ops::triu(b_, x, pick(2))) : void();
      case 5: {
        const ValueId index = ops::iota(b_, extent, DType::int64, extent - 1, -1);
        return push(ops::index_select(b_, x, dim, index));
      }
      case 6: {
        const ValueId index = ops::full(b_, Shape{2}, DType::int64, pick(static_cast<int>(extent)));
        return small ? push(ops::index_select(b_, x, dim, index)) : void();
      }
      default: return small ? push(ops::repeat_interleave(b_, x, 2, dim), false) : void();  // may be an expanded view
    }
  }

  void product() {
    const std::optional<Entry> entry = any_of_rank(1);
    if (!entry) return;
    const ValueId x = entry->id;
    const Shape s = shape(x);
    const std::int64_t in = s.back();
    const std::int64_t out = 1 + pick(4);
    if (s.numel() / std::max<std::int64_t>(in, 1) * out > kMaxElements) return;
    switch (pick(5)) {
      case 0: return push(ops::linear(b_, x, add_input(Shape{out, in}), chance(50) ? add_input(Shape{out}) : ValueId()));
      case 1: return push(ops::matmul(b_, x, add_input(Shape{in, out})));
      case 2:
        if (s.rank() < 2) return;
        return push(ops::matmul(b_, ops::tanh(b_, x), x, false, true));
      case 3: {
        const bool affine = chance(50);
        return push(ops::layer_norm(b_, x, affine ? add_input(Shape{in}) : ValueId(), affine ? add_input(Shape{in}) : ValueId(), 0.3).y);
      }
      default: return push(ops::rms_norm(b_, x, chance(50) ? add_input(Shape{in}) : ValueId(), 0.3, false).y);
    }
  }

  /// Writes through a value that may be a view of others; what lies there is seen by all of them.
  void write() {
    std::optional<Entry> target;
    for (int attempt = 0; attempt < 8 && !target; ++attempt) {
      const Entry entry = any();
      if (entry.writable) target = entry;
    }
    if (!target) target = Entry{ops::copy(b_, any().id), true};
    const ValueId x = target->id;
    const auto in_place = [&](Opcode opcode, std::vector<ValueId> inputs, Attrs attrs = NoAttrs{}) {
      push(b_.emit_in_place(opcode, std::move(inputs), std::move(attrs)));
    };
    ValueId other = partner(x);
    if (broadcast_size(shape(x), shape(other)) != shape(x).numel() || shape(other).rank() > shape(x).rank()) other = x;
    switch (pick(8)) {
      case 0: return in_place(op::tanh, {x});
      case 1: return in_place(op::sin, {x});
      case 2: return in_place(op::mul_scalar, {x}, ScalarAttrs{number(-1, 1)});
      case 3: return in_place(op::add_scalar, {x}, ScalarAttrs{number(-0.5, 0.5)});
      case 4: return in_place(op::add, {x, ops::tanh(b_, other)});
      case 5: return in_place(op::mul, {x, ops::sigmoid(b_, other)});
      case 6: return in_place(op::sub, {x, other});
      default: return in_place(op::add, {x, ops::full(b_, Shape{}, DType::float64, number(-1, 1))});
    }
  }

  void special() {
    const ValueId x = any().id;
    switch (pick(4)) {
      case 0: return options_.draws ? push(ops::dropout(b_, x, 0.3)) : push(unary(x));
      case 1:
        if (!options_.draws) return push(unary(x));
        return push(ops::mul(b_, x, ops::uniform(b_, shape(x), DType::float64)));
      case 2: return options_.tiles ? tile() : push(custom(x));
      default: return push(custom(x));
    }
  }

  /// y = x * tanh(z) with its derivative written out; z of x's shape. The forward body writes in place.
  ValueId custom(ValueId x) {
    const ValueId z = unary(x);
    const TensorType type = trace_.type(x);
    Trace forward;
    forward.name = "gate";
    {
      Builder b(forward);
      const ValueId fx = forward.add_input(type, Role::batch, "x");
      const ValueId fz = forward.add_input(type, Role::batch, "z");
      const ValueId gate = options_.in_place ? b.emit_in_place(op::tanh, {fz}) : ops::tanh(b, fz);
      forward.outputs = {ops::mul(b, fx, gate)};
    }
    Trace backward;
    backward.name = "gate_backward";
    {
      Builder b(backward);
      const ValueId fx = backward.add_input(type, Role::batch, "x");
      const ValueId fz = backward.add_input(type, Role::batch, "z");
      backward.add_input(type, Role::batch, "y");
      const ValueId gy = backward.add_input(type, Role::batch, "gy");
      const ValueId t = ops::tanh(b, fz);
      const ValueId slope = ops::add_scalar(b, ops::neg(b, ops::square(b, t)), 1);
      backward.outputs = {ops::mul(b, gy, t), ops::mul(b, ops::mul(b, gy, fx), slope)};
    }
    return ops::custom_function(b_, {x, z}, std::move(forward), std::move(backward), "gate").at(0);
  }

  void tile() {
    const std::optional<Entry> entry = any_of_rank(1);
    if (!entry) return;
    const ValueId x = entry->id;
    TensorType share = trace_.type(x);
    const std::int64_t rows = share.shape[0];
    share.shape.set_dim(0, Dim{1, {}});
    Trace body;
    body.name = "rows";
    Builder b(body);
    const ValueId part = body.add_input(share, Role::batch, "x");
    const ValueId y = ops::exp(b, ops::tanh(b, part));
    body.outputs = {y, ops::sum(b, y)};
    TileAttrs attrs;
    attrs.tiles = rows;
    attrs.input_dims = {0};
    attrs.output_dims = {0, -1};
    for (const ValueId output : ops::tile(b_, {x}, std::move(body), std::move(attrs))) push(output);
  }

  /// The loss reads everything that nothing else reads.
  void finish() {
    const std::vector<std::vector<NodeId>> readers = value_readers(trace_);
    const std::size_t values = readers.size();
    ValueId loss;
    for (std::size_t i = 0; i < values; ++i) {
      const ValueId id(i);
      if (!readers[i].empty() || trace_.type(id).dtype != DType::float64 || trace_.type(id).shape.numel() == 0) continue;
      const ValueId term = ops::mean(b_, ops::unary(b_, op::sin, id));
      loss = loss.valid() ? ops::add(b_, loss, term) : term;
    }
    trace_.outputs = {loss, pool_.back().id, any().id};
  }

  ProgramOptions options_;
  std::mt19937_64 random_;
  Trace trace_;
  Builder b_{trace_};
  std::vector<Entry> pool_;
};

}  // namespace

Trace random_program(std::uint64_t seed, const ProgramOptions& options) { return Generator(seed, options).run(); }

}  // namespace reprise::test

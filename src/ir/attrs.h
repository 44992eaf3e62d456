// SPDX-License-Identifier: Apache-2.0
// Attributes of nodes: one small struct per op family. Each lists its fields in `visit`, which printer, parser and
// hash share, so that a new field needs no other edit. A field equal to its default is not printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "ir/shape.h"

namespace reprise {

using Ints = std::vector<std::int64_t>;

#define REPRISE_ATTRS_EQ(Type) friend bool operator==(const Type&, const Type&) = default

struct NoAttrs {
  void visit(auto&&) {}
  REPRISE_ATTRS_EQ(NoAttrs);
};

/// A tensor filled with one value.
struct FullAttrs {
  Shape shape;
  DType dtype = DType::float32;
  double value = 0;
  void visit(auto&& v) { v("shape", shape), v("dtype", dtype), v("value", value); }
  REPRISE_ATTRS_EQ(FullAttrs);
};

/// start, start + step, ...: `size` elements.
struct IotaAttrs {
  std::int64_t size = 0;
  std::int64_t start = 0;
  std::int64_t step = 1;
  DType dtype = DType::int64;
  void visit(auto&& v) { v("size", size), v("start", start), v("step", step), v("dtype", dtype); }
  REPRISE_ATTRS_EQ(IotaAttrs);
};

struct CastAttrs {
  DType dtype = DType::float32;
  void visit(auto&& v) { v("dtype", dtype); }
  REPRISE_ATTRS_EQ(CastAttrs);
};

struct ScalarAttrs {
  double value = 0;
  void visit(auto&& v) { v("value", value); }
  REPRISE_ATTRS_EQ(ScalarAttrs);
};

/// `tanh_form` selects the tanh approximation, else the erf form.
struct GeluAttrs {
  bool tanh_form = false;
  void visit(auto&& v) { v("tanh_form", tanh_form); }
  REPRISE_ATTRS_EQ(GeluAttrs);
};

struct ClampAttrs {
  std::optional<double> min;
  std::optional<double> max;
  void visit(auto&& v) { v("min", min), v("max", max); }
  REPRISE_ATTRS_EQ(ClampAttrs);
};

/// Reduction over `dims` (none given: over all). `correction` is subtracted from the count in var and std.
struct ReduceAttrs {
  std::optional<Ints> dims;
  bool keepdim = false;
  std::int64_t correction = 0;
  void visit(auto&& v) { v("dims", dims), v("keepdim", keepdim), v("correction", correction); }
  REPRISE_ATTRS_EQ(ReduceAttrs);
};

struct DimAttrs {
  std::int64_t dim = -1;
  void visit(auto&& v) { v("dim", dim); }
  REPRISE_ATTRS_EQ(DimAttrs);
};

struct ScanAttrs {
  std::int64_t dim = -1;
  bool reverse = false;
  void visit(auto&& v) { v("dim", dim), v("reverse", reverse); }
  REPRISE_ATTRS_EQ(ScanAttrs);
};

struct ArgAttrs {
  std::int64_t dim = -1;
  bool keepdim = false;
  void visit(auto&& v) { v("dim", dim), v("keepdim", keepdim); }
  REPRISE_ATTRS_EQ(ArgAttrs);
};

struct TopkAttrs {
  std::int64_t dim = -1;
  std::int64_t k = 1;
  bool largest = true;
  void visit(auto&& v) { v("dim", dim), v("k", k), v("largest", largest); }
  REPRISE_ATTRS_EQ(TopkAttrs);
};

/// Stable sort.
struct SortAttrs {
  std::int64_t dim = -1;
  bool descending = false;
  void visit(auto&& v) { v("dim", dim), v("descending", descending); }
  REPRISE_ATTRS_EQ(SortAttrs);
};

/// A result extent: classes of one_hot, bins of bincount.
struct SizeAttrs {
  std::int64_t size = 0;
  void visit(auto&& v) { v("size", size); }
  REPRISE_ATTRS_EQ(SizeAttrs);
};

/// Target shape; `dtype` is that of a draw, and views keep their input's.
struct ShapeAttrs {
  Shape shape;
  DType dtype = DType::float32;
  void visit(auto&& v) { v("shape", shape), v("dtype", dtype); }
  REPRISE_ATTRS_EQ(ShapeAttrs);
};

struct DimsAttrs {
  Ints dims;
  void visit(auto&& v) { v("dims", dims); }
  REPRISE_ATTRS_EQ(DimsAttrs);
};

/// Elements start, start + step, ... below stop; 0 <= start <= stop <= extent, step >= 1.
struct SliceAttrs {
  std::int64_t dim = 0;
  std::int64_t start = 0;
  std::int64_t stop = 0;
  std::int64_t step = 1;
  void visit(auto&& v) { v("dim", dim), v("start", start), v("stop", stop), v("step", step); }
  REPRISE_ATTRS_EQ(SliceAttrs);
};

struct DiagonalAttrs {
  std::int64_t offset = 0;
  void visit(auto&& v) { v("offset", offset); }
  REPRISE_ATTRS_EQ(DiagonalAttrs);
};

struct UnfoldAttrs {
  std::int64_t dim = -1;
  std::int64_t size = 1;
  std::int64_t step = 1;
  void visit(auto&& v) { v("dim", dim), v("size", size), v("step", step); }
  REPRISE_ATTRS_EQ(UnfoldAttrs);
};

/// A strided window of a dense base: element (i, j, ...) is base[offset + i*strides[0] + j*strides[1] + ...].
/// `base` is the base's shape; only as_strided_backward needs it.
struct StridedAttrs {
  Shape shape;
  Ints strides;
  std::int64_t offset = 0;
  Shape base;
  void visit(auto&& v) { v("shape", shape), v("strides", strides), v("offset", offset), v("base", base); }
  REPRISE_ATTRS_EQ(StridedAttrs);
};

struct RollAttrs {
  std::int64_t dim = 0;
  std::int64_t shift = 0;
  void visit(auto&& v) { v("dim", dim), v("shift", shift); }
  REPRISE_ATTRS_EQ(RollAttrs);
};

/// Elements added before and after, per dimension.
struct PadAttrs {
  Ints before;
  Ints after;
  double value = 0;
  void visit(auto&& v) { v("before", before), v("after", after), v("value", value); }
  REPRISE_ATTRS_EQ(PadAttrs);
};

struct IndexAddAttrs {
  std::int64_t dim = 0;
  double alpha = 1;
  void visit(auto&& v) { v("dim", dim), v("alpha", alpha); }
  REPRISE_ATTRS_EQ(IndexAddAttrs);
};

struct IndexPutAttrs {
  bool accumulate = false;
  void visit(auto&& v) { v("accumulate", accumulate); }
  REPRISE_ATTRS_EQ(IndexPutAttrs);
};

/// `rows` is the vocabulary size, for the backward op; `padding_index` gets no gradient.
struct EmbeddingAttrs {
  std::int64_t rows = 0;
  std::optional<std::int64_t> padding_index;
  void visit(auto&& v) { v("rows", rows), v("padding_index", padding_index); }
  REPRISE_ATTRS_EQ(EmbeddingAttrs);
};

/// Which operand is transposed in its last two dimensions.
struct MatmulAttrs {
  bool transpose_a = false;
  bool transpose_b = false;
  void visit(auto&& v) { v("transpose_a", transpose_a), v("transpose_b", transpose_b); }
  REPRISE_ATTRS_EQ(MatmulAttrs);
};

/// `unit_offset`: rms_norm scales by 1 + weight. The two flags say which optional inputs are there.
struct NormAttrs {
  double eps = 1e-5;
  bool unit_offset = false;
  bool has_weight = false;
  bool has_bias = false;
  void visit(auto&& v) {
    v("eps", eps), v("unit_offset", unit_offset), v("has_weight", has_weight), v("has_bias", has_bias);
  }
  REPRISE_ATTRS_EQ(NormAttrs);
};

/// `half` pairs i with i + n/2; `interleaved` pairs 2i with 2i+1 in place; `gathered` takes the even, then the odd
/// elements and leaves them in that order.
enum class RopeLayout : std::uint8_t { half, interleaved, gathered };
struct RopeAttrs {
  RopeLayout layout = RopeLayout::half;
  void visit(auto&& v) { v("layout", layout); }
  REPRISE_ATTRS_EQ(RopeAttrs);
};

struct CrossEntropyAttrs {
  std::int64_t ignore_index = -100;
  double label_smoothing = 0;
  double z_loss = 0;
  bool has_weight = false;
  void visit(auto&& v) {
    v("ignore_index", ignore_index), v("label_smoothing", label_smoothing), v("z_loss", z_loss), v("has_weight", has_weight);
  }
  REPRISE_ATTRS_EQ(CrossEntropyAttrs);
};

/// Query i sees key j when j <= i + offset (causal) and j > i + offset - window (window > 0).
/// `dropout` acts on the probabilities and needs the seed and offset inputs; `draw` is the draw's fixed offset.
/// With segments, a query sees the keys of its own run of equal ids only.
struct AttentionAttrs {
  bool causal = false;
  std::int64_t offset = 0;
  std::int64_t window = 0;
  double scale = 1;
  double softcap = 0;
  double dropout = 0;
  std::int64_t draw = 0;
  bool has_bias = false;
  bool has_mask = false;
  bool has_segments = false;
  void visit(auto&& v) {
    v("causal", causal), v("offset", offset), v("window", window), v("scale", scale), v("softcap", softcap),
        v("dropout", dropout), v("draw", draw), v("has_bias", has_bias), v("has_mask", has_mask), v("has_segments", has_segments);
  }
  REPRISE_ATTRS_EQ(AttentionAttrs);
};

struct DropoutAttrs {
  double p = 0;
  void visit(auto&& v) { v("p", p); }
  REPRISE_ATTRS_EQ(DropoutAttrs);
};

/// A draw named by (seed input, offset input + `draw`); `draw` is a multiple of 4 fixed when the generator is removed.
struct PhiloxAttrs {
  Shape shape;
  DType dtype = DType::float32;
  std::int64_t draw = 0;
  double p = 0;
  void visit(auto&& v) { v("shape", shape), v("dtype", dtype), v("draw", draw), v("p", p); }
  REPRISE_ATTRS_EQ(PhiloxAttrs);
};

enum class Rounding : std::uint8_t { nearest, stochastic };
/// `parameter` names this parameter's rounding draws; the flags say which optional inputs are there.
struct AdamWAttrs {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0;
  Rounding rounding = Rounding::nearest;
  std::int64_t parameter = 0;
  bool has_coefficient = false;
  bool has_master = false;
  void visit(auto&& v) {
    v("beta1", beta1), v("beta2", beta2), v("eps", eps), v("weight_decay", weight_decay), v("rounding", rounding),
        v("parameter", parameter), v("has_coefficient", has_coefficient), v("has_master", has_master);
  }
  REPRISE_ATTRS_EQ(AdamWAttrs);
};

/// The body runs `tiles` times; per input the dimension that is cut (-1: whole), per output the dimension along which
/// the tiles' results are joined (-1: added up).
struct TileAttrs {
  std::int64_t tiles = 1;
  Ints input_dims;
  Ints output_dims;
  void visit(auto&& v) { v("tiles", tiles), v("input_dims", input_dims), v("output_dims", output_dims); }
  REPRISE_ATTRS_EQ(TileAttrs);
};

struct CollectiveAttrs {
  std::string group;
  std::int64_t size = 1;
  void visit(auto&& v) { v("group", group), v("size", size); }
  REPRISE_ATTRS_EQ(CollectiveAttrs);
};

/// Attributes of user ops and custom functions, in the order given.
using CustomValue = std::variant<bool, std::int64_t, double, std::string, Ints, std::vector<double>>;
using CustomFields = std::vector<std::pair<std::string, CustomValue>>;
struct CustomAttrs {
  std::string name;
  CustomFields fields;
  void visit(auto&& v) { v("name", name), v("fields", fields); }
  REPRISE_ATTRS_EQ(CustomAttrs);
};

#undef REPRISE_ATTRS_EQ

using Attrs = std::variant<NoAttrs, FullAttrs, IotaAttrs, CastAttrs, ScalarAttrs, GeluAttrs, ClampAttrs, ReduceAttrs,
                           DimAttrs, ScanAttrs, ArgAttrs, TopkAttrs, SortAttrs, SizeAttrs, ShapeAttrs, DimsAttrs,
                           SliceAttrs, DiagonalAttrs, UnfoldAttrs, StridedAttrs, RollAttrs, PadAttrs, IndexAddAttrs,
                           IndexPutAttrs, EmbeddingAttrs, MatmulAttrs, NormAttrs, RopeAttrs, CrossEntropyAttrs,
                           AttentionAttrs, DropoutAttrs, PhiloxAttrs, AdamWAttrs, TileAttrs, CollectiveAttrs, CustomAttrs>;

}  // namespace reprise

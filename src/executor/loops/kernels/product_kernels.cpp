// SPDX-License-Identifier: Apache-2.0
// Matrix products in the contract's order: k in blocks of 512, each one fma chain from +0, block sums added ascending. Blocking over rows
// and columns (GotoBLAS: Goto and van de Geijn, 2008) changes no bits.
#include "executor/loops/kernels/fill_tables.h"
#include "executor/loops/kernels/product_tile.h"

namespace reprise::loops::REPRISE_ISA_LEVEL {
namespace {

/// Sets the CPU's flush-to-zero and denormals-are-zero bits for its life: the bfloat16 product flushes as the dot-product instruction does.
class FlushDenormals {
 public:
  explicit FlushDenormals(bool on) : on_(on) {
    if (on_) {
      saved_ = __builtin_ia32_stmxcsr();
      __builtin_ia32_ldmxcsr(saved_ | 0x8040u);
    }
  }
  ~FlushDenormals() {
    if (on_) __builtin_ia32_ldmxcsr(saved_);
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  bool on_;
  unsigned saved_ = 0;
};

template <class T>
std::size_t workspace_size(ProductBlocks blocks) {
  const std::size_t rows = (blocks.rows + kTileRows<T> - 1) / kTileRows<T> * kTileRows<T>;
  return rows * reduction::kProductBlock + reduction::kProductBlock * kTileColumns<T> + kTileRows<T> * kTileColumns<T> + 64;
}

template <class T>
REPRISE_INLINE T* align_up(T* p) {
  return reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(p) + 63) & ~std::uintptr_t{63});
}

template <class E, class T>
void multiply(Matrix<const E> a, Matrix<const E> b, Matrix<T> c, std::size_t k, std::size_t row_begin, std::size_t row_end,
              std::size_t column_begin, std::size_t column_end, bool accumulate, ProductBlocks blocks, T* workspace) {
  constexpr bool kFlush = __is_same(E, bfloat16);
  constexpr std::size_t kRows = kTileRows<T>;
  constexpr std::size_t kColumns = kTileColumns<T>;
  const std::size_t block_rows = (blocks.rows + kRows - 1) / kRows * kRows;
  T* panel_b = align_up(workspace);
  T* tile = panel_b + reduction::kProductBlock * kColumns;
  T* panels_a = tile + kRows * kColumns;
  const auto c_at = [&](std::size_t row, std::size_t column) {
    return c.data + static_cast<std::int64_t>(row) * c.row_stride + static_cast<std::int64_t>(column) * c.column_stride;
  };
  if (k == 0 && !accumulate) {
    for (std::size_t row = row_begin; row < row_end; ++row) {
      for (std::size_t column = column_begin; column < column_end; ++column) *c_at(row, column) = T(0);
    }
    return;
  }
  for (std::size_t top = row_begin; top < row_end; top += block_rows) {
    const std::size_t height = row_end - top < block_rows ? row_end - top : block_rows;
    for (std::size_t first = 0; first < k; first += reduction::kProductBlock) {
      const std::size_t depth = k - first < reduction::kProductBlock ? k - first : reduction::kProductBlock;
      const bool add = accumulate || first > 0;
      for (std::size_t r = 0; r < height; r += kRows) {
        pack_panel<kRows>(a.data + static_cast<std::int64_t>(top + r) * a.row_stride + static_cast<std::int64_t>(first) * a.column_stride,
                          a.row_stride, a.column_stride, height - r < kRows ? height - r : kRows, depth, panels_a + r * depth);
      }
      for (std::size_t left = column_begin; left < column_end; left += kColumns) {
        const std::size_t width = column_end - left < kColumns ? column_end - left : kColumns;
        pack_panel<kColumns>(b.data + static_cast<std::int64_t>(first) * b.row_stride + static_cast<std::int64_t>(left) * b.column_stride,
                             b.column_stride, b.row_stride, width, depth, panel_b);
        const FlushDenormals flush(kFlush);
        for (std::size_t r = 0; r < height; r += kRows) {
          const std::size_t rows = height - r < kRows ? height - r : kRows;
          if (rows == kRows && width == kColumns && c.column_stride == 1) {
            product_tile<T, kFlush>(depth, panels_a + r * depth, panel_b, c_at(top + r, left), static_cast<std::size_t>(c.row_stride), add);
            continue;
          }
          product_tile<T, kFlush>(depth, panels_a + r * depth, panel_b, tile, kColumns, false);
          for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t j = 0; j < width; ++j) {
              T* p = c_at(top + r + i, left + j);
              *p = add ? *p + tile[i * kColumns + j] : tile[i * kColumns + j];
            }
          }
        }
      }
    }
  }
}

template <class E, class T>
void fill(ProductTable<E, T>& table) {
  table.workspace = workspace_size<T>;
  table.tile_rows = kTileRows<T>;
  table.tile_columns = kTileColumns<T>;
  table.multiply = multiply<E, T>;
}

}  // namespace

void fill_products(Kernels& kernels) {
  fill(kernels.product_f32);
  fill(kernels.product_f64);
  fill(kernels.product_bf16);
}

}  // namespace reprise::loops::REPRISE_ISA_LEVEL

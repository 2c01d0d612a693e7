#pragma once
/// Products of a paged matrix and vectors (Polybench's MVT, ATAX and BICG), by warps that hold
/// pages. Vectors lie in the memory of the machine that runs the kernels. Every kernel needs the
/// matrix once.

#include "../support/held_page.hpp"
#include "matrix_view.hpp"
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/group.hpp>

#include <cstdint>

namespace dense {

/// What kernels count, zero at the start.
struct product_counts {
  std::uint64_t taken;   ///< portions that warps took
  std::uint64_t failed;  ///< pages that could not be had
};

namespace detail {

GNSTOR_HD inline void add_to(float& sum, float value) {
  cuda::atomic_ref<float, cuda::thread_scope_device>(sum).fetch_add(value,
                                                                    cuda::memory_order_relaxed);
}

/// Number of the portion that the warp takes next.
GNSTOR_HD inline std::uint64_t take(const gnstor::simt::group& warp, product_counts& counts) {
  std::uint64_t portion = 0;
  if (warp.leads())
    portion = gnstor::device_word<std::uint64_t>(counts.taken).fetch_add(1, gnstor::relaxed);
  return warp.broadcast(portion);
}

GNSTOR_HD inline void count_failure(const gnstor::simt::group& warp, product_counts& counts) {
  if (warp.leads()) gnstor::device_word<std::uint64_t>(counts.failed).fetch_add(1, gnstor::relaxed);
}

/// The sum of a number per lane, in every lane.
GNSTOR_HD inline float sum_of(const gnstor::simt::group& warp, float mine) {
  for (std::uint32_t step = 16; step != 0; step /= 2)
    mine += warp.shfl(mine, static_cast<int>(warp.thread_rank() ^ step));
  return mine;
}

}  // namespace detail

/// rows_out += A columns_in and columns_out += A^T rows_in: both products of MVT, or of BICG, in
/// one pass. A warp takes a tile of some rows, and keeps the sums of its columns in registers.
struct two_products {
  static constexpr std::uint32_t rows_at_a_time = 16;
  static constexpr std::uint32_t parts = 32;  ///< of a tile, a column per lane each

  const float* columns_in;
  const float* rows_in;
  float* columns_out;
  float* rows_out;

  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane&, matrix_view<View> a, product_counts* counts) const {
    const auto warp = gnstor::simt::group::whole_warp();
    const std::uint64_t bands = (a.rows + rows_at_a_time - 1) / rows_at_a_time;
    const std::uint64_t portions = bands * a.tiles();
    for (std::uint64_t k = detail::take(warp, *counts); k < portions;
         k = detail::take(warp, *counts)) {
      const auto row = static_cast<std::uint32_t>(k / a.tiles() * rows_at_a_time);
      multiply_tile(warp, a, row, static_cast<std::uint32_t>(k % a.tiles()) * a.tile, *counts);
    }
  }

 private:
  template <class View>
  GNSTOR_HD void multiply_tile(const gnstor::simt::group& warp, const matrix_view<View>& a,
                               std::uint32_t first_row, std::uint32_t first_column,
                               product_counts& counts) const {
    const std::uint32_t column = first_column + warp.thread_rank();
    const std::uint32_t end = first_column + a.tile < a.columns ? first_column + a.tile : a.columns;
    const std::uint32_t last_row =
        first_row + rows_at_a_time < a.rows ? first_row + rows_at_a_time : a.rows;
    float down[parts] = {};
    support::held_page<View> page(a.elements);
    for (std::uint32_t row = first_row; row < last_row; ++row) {
      if (!page.turn_to(warp, a.at(row, first_column))) {
        detail::count_failure(warp, counts);
        continue;
      }
      const float here = rows_in[row];
      float across = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (std::uint32_t p = 0; p < parts; ++p) {
        if (column + 32 * p >= end) continue;
        const float entry = page[a.at(row, column + 32 * p)];
        across += entry * columns_in[column + 32 * p];
        down[p] += entry * here;
      }
      across = detail::sum_of(warp, across);
      if (warp.leads()) detail::add_to(rows_out[row], across);
    }
    page.release(warp);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (std::uint32_t p = 0; p < parts; ++p) {
      if (column + 32 * p < end) detail::add_to(columns_out[column + 32 * p], down[p]);
    }
  }
};

/// columns_out += A^T (A columns_in), as ATAX needs it: a warp forms the product of a row, and adds
/// the row as many times while its pages are still there.
struct row_by_row {
  const float* columns_in;
  float* columns_out;
  float* rows_out;  ///< A columns_in

  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane&, matrix_view<View> a, product_counts* counts) const {
    const auto warp = gnstor::simt::group::whole_warp();
    for (std::uint64_t row = detail::take(warp, *counts); row < a.rows;
         row = detail::take(warp, *counts)) {
      float across = 0;
      for_row(warp, a, row, *counts,
              [&](std::uint32_t column, float entry) { across += entry * columns_in[column]; });
      across = detail::sum_of(warp, across);
      if (warp.leads()) rows_out[row] = across;
      for_row(warp, a, row, *counts, [&](std::uint32_t column, float entry) {
        detail::add_to(columns_out[column], entry * across);
      });
    }
  }

 private:
  /// Calls `use` for every element of a row, a lane for each.
  template <class View, class Use>
  GNSTOR_HD static void for_row(const gnstor::simt::group& warp, const matrix_view<View>& a,
                                std::uint64_t row, product_counts& counts, const Use& use) {
    support::held_page<View> page(a.elements);
    for (std::uint32_t first = 0; first < a.columns; first += a.tile) {
      if (!page.turn_to(warp, a.at(row, first))) {
        detail::count_failure(warp, counts);
        continue;
      }
      const std::uint32_t end = first + a.tile < a.columns ? first + a.tile : a.columns;
#if defined(__CUDA_ARCH__)
#pragma unroll 8
#endif
      for (std::uint32_t column = first + warp.thread_rank(); column < end; column += 32)
        use(column, page[a.at(row, column)]);
    }
    page.release(warp);
  }
};

}  // namespace dense

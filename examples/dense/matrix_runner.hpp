#pragma once

#include "../support/figures.hpp"
#include "../support/kernel_shape.hpp"
#include "matrix_kernels.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/memory_block.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dense {

/// x1 += A y1, x2 += A^T y2; y = A^T (A x); s = A^T r, q = A p: all whole numbers.
enum class product { mvt, atax, bicg };

/// Throws `input_error` for another name than these.
inline product product_named(const std::string& name) {
  if (name == "mvt") return product::mvt;
  if (name == "atax") return product::atax;
  if (name == "bicg") return product::bicg;
  throw gnstor::host::input_error("kernel '" + name + "': give mvt, atax or bicg");
}

/// Element `i` of vector `which`: 0 and 1 are multiplied, 2 and 3 are what is added to.
GNSTOR_HD constexpr float vector_at(std::uint32_t which, std::uint32_t i) {
  return entry_at(0xffffff00u + which, i);
}

/// Runs a product by kernels, with vectors that are made for it.
/// @tparam Place where the matrix lies, `support::on_volumes` or `support::on_memory`; outlives it
template <class Place>
class matrix_runner {
 public:
  matrix_runner(Place& place, std::uint32_t rows, std::uint32_t columns,
                const support::kernel_shape& shape)
      : place_(&place), shape_(shape), rows_(rows), columns_(columns) {
    columns_in_ = filled(0, columns);
    rows_in_ = filled(1, rows);
    columns_out_ = place.allocate(columns * std::size_t{4});
    rows_out_ = place.allocate(rows * std::size_t{4});
    counts_ = place.allocate(sizeof(product_counts));
  }

  /// Returns the seconds of the kernel. What it leaves is in `columns` and `rows`.
  template <class View>
  double run(product what, const matrix_view<View>& a) {
    start(columns_out_, columns_, what == product::mvt ? 2 : none);
    start(rows_out_, rows_, what == product::mvt ? 3 : none);
    const product_counts zero{};
    counts_.write(0, &zero, sizeof zero);
    auto* counts = static_cast<product_counts*>(counts_.data());
    if (what == product::atax) {
      kernels_.spawn(shape_.grid, shape_.block,
                     row_by_row{floats(columns_in_), floats(columns_out_), floats(rows_out_)}, a,
                     counts);
    } else {
      kernels_.spawn(shape_.grid, shape_.block,
                     two_products{floats(columns_in_), floats(rows_in_), floats(columns_out_),
                                  floats(rows_out_)},
                     a, counts);
    }
    place_->attach(kernels_);
    const support::stopwatch clock;
    kernels_.run();
    return clock.seconds();
  }

  std::vector<float> columns() const { return read(columns_out_, columns_); }
  std::vector<float> rows() const { return read(rows_out_, rows_); }
  /// Pages that could not be had in the last run.
  std::uint64_t failed() const {
    product_counts c{};
    counts_.read(0, &c, sizeof c);
    return c.failed;
  }

 private:
  static constexpr std::uint32_t none = 0xffffffff;

  static float* floats(const gnstor::host::memory_block& b) {
    return static_cast<float*>(b.data());
  }
  static std::vector<float> read(const gnstor::host::memory_block& b, std::uint32_t count) {
    std::vector<float> all(count);
    b.read(0, all.data(), all.size() * 4);
    return all;
  }
  static void start(const gnstor::host::memory_block& b, std::uint32_t count, std::uint32_t which) {
    std::vector<float> all(count);
    for (std::uint32_t i = 0; which != none && i < count; ++i) all[i] = vector_at(which, i);
    b.write(0, all.data(), all.size() * 4);
  }
  gnstor::host::memory_block filled(std::uint32_t which, std::uint32_t count) {
    auto b = place_->allocate(count * std::size_t{4});
    start(b, count, which);
    return b;
  }

  Place* place_;
  support::kernel_shape shape_;
  std::uint32_t rows_, columns_;
  gnstor::host::memory_block columns_in_, rows_in_, columns_out_, rows_out_, counts_;
  gnstor::host::executor kernels_;
};

/// What a product comes to, in whole numbers.
struct product_reference {
  std::vector<std::int64_t> columns;
  std::vector<std::int64_t> rows;
};

/// By one thread of this CPU, from what the elements should be.
inline product_reference reference(product what, std::uint32_t rows, std::uint32_t columns) {
  product_reference r{std::vector<std::int64_t>(columns), std::vector<std::int64_t>(rows)};
  const auto whole = [](float f) { return static_cast<std::int64_t>(f); };
  for (std::uint32_t j = 0; what == product::mvt && j < columns; ++j)
    r.columns[j] = whole(vector_at(2, j));
  for (std::uint32_t i = 0; i < rows; ++i) {
    std::int64_t across = 0;
    for (std::uint32_t j = 0; j < columns; ++j)
      across += whole(entry_at(i, j)) * whole(vector_at(0, j));
    r.rows[i] = across + (what == product::mvt ? whole(vector_at(3, i)) : 0);
    const std::int64_t down = what == product::atax ? across : whole(vector_at(1, i));
    for (std::uint32_t j = 0; j < columns; ++j) r.columns[j] += whole(entry_at(i, j)) * down;
  }
  return r;
}

/// How many results are not what they should be.
inline std::uint64_t wrong_results(const std::vector<float>& is,
                                   const std::vector<std::int64_t>& right) {
  std::uint64_t wrong = 0;
  for (std::size_t k = 0; k < right.size(); ++k)
    wrong += k >= is.size() || is[k] != static_cast<float>(right[k]);
  return wrong;
}

}  // namespace dense

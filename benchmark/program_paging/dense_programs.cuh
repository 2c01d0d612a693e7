#pragma once
/// MVT, ATAX, BICG and vector addition on every peer.

#include "dense/add_pages.hpp"
#include "dense/matrix_runner.hpp"
#include "graph_programs.cuh"
#include "pass_over.cuh"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace gnstor::benchmarks {

__global__ void fill_matrix(float* at, std::uint32_t side) {
  for (std::uint64_t k = thread_number(); k < std::uint64_t{side} * side; k += thread_count())
    at[k] = dense::entry_at(k / side, static_cast<std::uint32_t>(k % side));
}

/// Products of the matrix as its elements should be: of each row and vector 0, and of each column
/// and `down`.
__global__ void products_of_rows(std::uint32_t side, std::int64_t* out) {
  for (std::uint64_t i = thread_number(); i < side; i += thread_count()) {
    std::int64_t sum = 0;
    for (std::uint32_t j = 0; j < side; ++j)
      sum += static_cast<std::int64_t>(dense::entry_at(i, j) * dense::vector_at(0, j));
    out[i] = sum;
  }
}
__global__ void products_of_columns(std::uint32_t side, const std::int64_t* down,
                                    std::int64_t* out) {
  for (std::uint64_t j = thread_number(); j < side; j += thread_count()) {
    std::int64_t sum = 0;
    for (std::uint32_t i = 0; i < side; ++i)
      sum += static_cast<std::int64_t>(dense::entry_at(i, static_cast<std::uint32_t>(j))) * down[i];
    out[j] = sum;
  }
}

/// What a product has to come to, found by kernels that read no matrix.
inline dense::product_reference product_by_formula(dense::product what, std::uint32_t side) {
  dense::product_reference r{std::vector<std::int64_t>(side), std::vector<std::int64_t>(side)};
  const scratch<std::int64_t> rows(side), down(side), columns(side);
  products_of_rows<<<blocks, 32>>>(side, rows.data());
  cuda_check(cudaGetLastError(), "products of rows");
  cuda_check(cudaMemcpy(r.rows.data(), rows.data(), side * 8, cudaMemcpyDeviceToHost), "products");
  std::vector<std::int64_t> factors = r.rows;
  for (std::uint32_t i = 0; what != dense::product::atax && i < side; ++i)
    factors[i] = static_cast<std::int64_t>(dense::vector_at(1, i));
  cuda_check(cudaMemcpy(down.data(), factors.data(), side * 8, cudaMemcpyHostToDevice), "products");
  products_of_columns<<<blocks, 32>>>(side, down.data(), columns.data());
  cuda_check(cudaGetLastError(), "products of columns");
  cuda_check(cudaMemcpy(r.columns.data(), columns.data(), side * 8, cudaMemcpyDeviceToHost),
             "products");
  for (std::uint32_t i = 0; what == dense::product::mvt && i < side; ++i) {
    r.columns[i] += static_cast<std::int64_t>(dense::vector_at(2, i));
    r.rows[i] += static_cast<std::int64_t>(dense::vector_at(3, i));
  }
  return r;
}

inline constexpr figure_names needed{"needed_GB_per_s", "moved_per_needed"};

/// The matrix of all products, made once.
inline peer_data<float>& matrix_of(std::uint32_t side) {
  static std::unique_ptr<peer_data<float>> there;
  if (there == nullptr) {
    there = std::make_unique<peer_data<float>>(std::uint64_t{side} * side);
    fill_matrix<<<blocks, threads>>>(there->device(), side);
    cuda_check(cudaGetLastError(), "filling the matrix");
    there->download();
  }
  return *there;
}

/// A product of the matrix by kernels, on whatever they see of it.
class matrix_product {
 public:
  explicit matrix_product(dense::product what)
      : what_(what),
        side_(static_cast<std::uint32_t>(
            dense::pitch_of(static_cast<std::uint32_t>(setting("GNSTOR_MATRIX", 16384)), 1024))),
        right_(product_by_formula(what, side_)),
        runner_(place_, side_, side_, shape()) {}

  peer_data<float>& data() const { return matrix_of(side_); }
  /// The seconds of the kernel. Throws if the product is wrong.
  template <class View>
  double run(const View& view) {
    const double seconds = runner_.run(
        what_,
        dense::matrix_view<View>{view, side_, side_, side_, dense::tile_of(page_bytes() / 4)});
    const std::uint64_t wrong = dense::wrong_results(runner_.columns(), right_.columns) +
                                dense::wrong_results(runner_.rows(), right_.rows);
    if (wrong != 0 || runner_.failed() != 0) throw std::runtime_error("wrong products");
    return seconds;
  }
  /// The same on a new array.
  /// @param share of the matrix that its frames hold
  run_figures run_on_array(double share) {
    const auto a = data().array(page_bytes(), share);
    run_figures f{0, 0, static_cast<double>(data().bytes())};
    f.seconds = run(a->view());
    f.bytes_moved = bytes_moved(*a, page_bytes());
    a->close();
    return f;
  }

 private:
  dense::product what_;
  std::uint32_t side_;
  dense::product_reference right_;
  support::on_memory place_;
  dense::matrix_runner<support::on_memory> runner_;
};

inline void multiply(benchmark::State& state, dense::product what) {
  matrix_product product(what);
  peer_data<float>& data = product.data();
  const std::uint32_t page = page_bytes();
  compare_peers(state, needed, round_count(), [&](peer p, std::uint32_t) -> run_figures {
    run_figures f{0, 0, static_cast<double>(data.bytes())};
    switch (p) {
      case peer::array: return product.run_on_array(frames_share());
      case peer::zero_copy: f.seconds = product.run(data.pointer(data.host(), page)); return f;
      case peer::bulk:
        f.seconds = seconds_of([&] { data.upload(); });
        f.seconds += product.run(data.pointer(data.device(), page));
        return f;
      case peer::uvm:
      case peer::uvm_advised: break;
    }
    f.seconds = product.run(data.pointer(data.managed(p == peer::uvm_advised), page));
    return f;
  });
  report_link(state);
}

/// Element `i` of the vectors that are added.
__host__ __device__ inline float addend(std::uint32_t which, std::uint64_t i) {
  return static_cast<float>(static_cast<std::uint32_t>(i * 2654435761u >> 12) % 1000 + which);
}
__global__ void fill_addends(float* at, std::uint64_t count, std::uint32_t which) {
  for (std::uint64_t i = thread_number(); i < count; i += thread_count()) at[i] = addend(which, i);
}
__global__ void clear_floats(float* at, std::uint64_t count) {
  for (std::uint64_t i = thread_number(); i < count; i += thread_count()) at[i] = 0;
}
__global__ void check_sums(const float* at, std::uint64_t count, unsigned long long* wrong) {
  unsigned long long mine = 0;
  for (std::uint64_t i = thread_number(); i < count; i += thread_count())
    mine += at[i] != addend(1, i) + addend(2, i);
  if (mine != 0) atomicAdd(wrong, mine);
}

/// Three vectors on every peer, and the kernel that adds two of them.
class addition {
 public:
  explicit addition(std::uint64_t count)
      : a_(count), b_(count), c_(count), failures_(1), run_(shape()) {
    fill_addends<<<blocks, threads>>>(a_.device(), count, 1);
    fill_addends<<<blocks, threads>>>(b_.device(), count, 2);
    cuda_check(cudaGetLastError(), "filling vectors");
    a_.download();
    b_.download();
  }

  run_figures run(peer p) {
    const std::uint32_t page = page_bytes();
    run_figures f{0, 0, 3.0 * static_cast<double>(c_.bytes())};
    switch (p) {
      case peer::array: return run_on_arrays(f);
      case peer::zero_copy:
        clear(c_.host());
        f.seconds = seconds_of([&] { add(seen(a_.host()), seen(b_.host()), seen(c_.host())); });
        check(c_.host());
        return f;
      case peer::bulk:
        clear(c_.device());
        f.seconds = seconds_of([&] {
          a_.upload();
          b_.upload();
          add(seen(a_.device()), seen(b_.device()), seen(c_.device()));
          c_.download();
        });
        check(c_.host());
        return f;
      case peer::uvm:
      case peer::uvm_advised: break;
    }
    const bool advised = p == peer::uvm_advised;
    clear(c_.managed(false));
    float* const c = c_.managed(false);
    const auto a = seen(a_.managed(advised)), b = seen(b_.managed(advised));
    f.seconds = seconds_of([&] { add(a, b, c_.pointer(c, page)); });
    check(c);
    return f;
  }

 private:
  run_figures run_on_arrays(run_figures f) {
    const std::uint32_t page = page_bytes();
    clear(c_.host());
    const auto a = a_.array(page, frames_share()), b = b_.array(page, frames_share()),
               c = c_.array(page, frames_share());
    f.seconds = seconds_of([&] {
      add(a->view(), b->view(), c->view());
      c->flush();
    });
    // Pages of sums are overwritten, and not fetched.
    f.bytes_moved = bytes_moved(*a, page) + bytes_moved(*b, page) + c->counters().pages_out * page;
    for (auto* each : {a.get(), b.get(), c.get()}) each->close();
    check(c_.host());
    return f;
  }
  support::pointer_view<float> seen(float* at) const { return c_.pointer(at, page_bytes()); }
  template <class View>
  void add(const View& a, const View& b, const View& c) {
    kernels_.spawn(run_.grid, run_.block, dense::add_pages{}, a, b, c, failures_.data());
    kernels_.run();
  }
  void clear(float* at) const {
    cuda_check(cudaMemset(failures_.data(), 0, 8), "clearing");
    clear_floats<<<blocks, threads>>>(at, c_.count());
    cuda_check(cudaGetLastError(), "clearing");
    cuda_check(cudaDeviceSynchronize(), "clearing");
  }
  void check(const float* at) const {
    const mistakes m;
    check_sums<<<blocks, threads>>>(at, c_.count(), m.word());
    cuda_check(cudaGetLastError(), "checking sums");
    m.require_none("sums");
    if (failures_.at(0) != 0) throw std::runtime_error("pages could not be had");
  }

  peer_data<float> a_, b_, c_;
  scratch<std::uint64_t> failures_;
  support::kernel_shape run_;
  host::executor kernels_;
};

inline void vector_add(benchmark::State& state) {
  addition vectors(setting("GNSTOR_VECTOR", std::uint64_t{1} << 28));
  compare_peers(state, needed, round_count(),
                [&](peer p, std::uint32_t) { return vectors.run(p); });
  report_link(state, 2.0 / 3);
}

}  // namespace gnstor::benchmarks

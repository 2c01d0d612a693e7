#pragma once
/// The taxi queries on every peer.

#include "graph_programs.cuh"
#include "taxi/query_runner.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace gnstor::benchmarks {

__global__ void fill_trips(std::uint32_t* at, std::uint64_t rows, std::uint32_t column) {
  for (std::uint64_t k = thread_number(); k < rows; k += thread_count())
    at[k] = taxi::drawn_trip({}, k, column);
}

/// What the queries have to find, by a kernel that reads no column: trips, then sums.
__global__ void sum_by_formula(std::uint64_t rows, unsigned long long* out) {
  for (std::uint64_t k = thread_number(); k < rows; k += thread_count()) {
    if (taxi::drawn_trip({}, k, 0) <= taxi::long_trip_seconds) continue;
    atomicAdd(&out[0], 1ull);
    for (std::uint32_t c = 1; c <= taxi::value_columns; ++c)
      atomicAdd(&out[c], static_cast<unsigned long long>(taxi::drawn_trip({}, k, c)));
  }
}

/// The columns on every peer.
class trip_data {
 public:
  explicit trip_data(std::uint64_t rows) : sums_(1 + taxi::value_columns) {
    for (std::uint32_t c = 0; c < columns_.size(); ++c) {
      columns_[c] = std::make_unique<peer_data<std::uint32_t>>(rows);
      fill_trips<<<blocks, threads>>>(columns_[c]->device(), rows, c);
      cuda_check(cudaGetLastError(), "drawing trips");
      columns_[c]->download();
    }
    cuda_check(cudaMemset(sums_.data(), 0, sizeof(std::uint64_t) * columns_.size()), "clearing");
    sum_by_formula<<<blocks, threads>>>(rows, sums_.data());
    cuda_check(cudaGetLastError(), "summing trips");
  }
  peer_data<std::uint32_t>& column(std::size_t c) { return *columns_[c]; }
  /// The number of long trips, or the sum of column `c` of them.
  std::uint64_t right(std::size_t c) const { return sums_.at(c); }

 private:
  std::array<std::unique_ptr<peer_data<std::uint32_t>>, 1 + taxi::value_columns> columns_;
  scratch<unsigned long long> sums_;
};

inline trip_data& all_trips() {
  static trip_data there(setting("GNSTOR_TAXI_ROWS", std::uint64_t{1} << 26));
  return there;
}

/// One query on every peer; see `taxi_query`.
class query_on_peers {
 public:
  /// @param columns of values that the query sums
  explicit query_on_peers(std::uint32_t columns)
      : data_(all_trips()),
        columns_(columns),
        value_page_(static_cast<std::uint32_t>(setting("GNSTOR_TAXI_PAGE_BYTES", 512))),
        runner_(place_, shape()) {}

  run_figures run(peer p) {
    const double values = 4.0 * static_cast<double>(data_.right(0)) * columns_;
    run_figures f{0, 0, static_cast<double>(data_.column(0).bytes()) + values};
    switch (p) {
      case peer::array: run_on_arrays(f); break;
      case peer::uvm:
      case peer::uvm_advised:
        run_on_pointers(f, [&](auto& d) { return d.managed(p == peer::uvm_advised); });
        break;
      case peer::zero_copy: run_on_pointers(f, [](auto& d) { return d.host(); }); break;
      case peer::bulk: {
        const double copied = seconds_of([&] {
          for (std::uint32_t c = 0; c <= columns_; ++c) data_.column(c).upload();
        });
        run_on_pointers(f, [](auto& d) { return d.device(); });
        f.seconds += copied;
      }
    }
    return f;
  }

 private:
  using paged = host::mapped_array<std::uint32_t>;

  void run_on_arrays(run_figures& f) {
    std::array<std::unique_ptr<paged>, 1 + taxi::value_columns> arrays;
    for (std::uint32_t c = 0; c < arrays.size(); ++c)
      arrays[c] = data_.column(c).array(c == 0 ? page_bytes() : value_page_, frames_share());
    using view = gnstor::mapped_array<std::uint32_t>;
    sum(f, taxi::trip_columns<view, view>{arrays[0]->view(),
                                          {arrays[1]->view(), arrays[2]->view(), arrays[3]->view(),
                                           arrays[4]->view(), arrays[5]->view()}});
    for (std::uint32_t c = 0; c < arrays.size(); ++c) {
      f.bytes_moved += bytes_moved(*arrays[c], c == 0 ? page_bytes() : value_page_);
      arrays[c]->close();
    }
  }
  /// @param at gives, of a column's `peer_data`, the pointer that the peer uses
  template <class At>
  void run_on_pointers(run_figures& f, const At& at) {
    const auto seen = [&](std::uint32_t c) {
      auto& d = data_.column(c);
      return d.pointer(c <= columns_ ? at(d) : d.host(), page_bytes());
    };
    using view = support::pointer_view<std::uint32_t>;
    sum(f, taxi::trip_columns<view, view>{seen(0), {seen(1), seen(2), seen(3), seen(4), seen(5)}});
  }
  template <class Columns>
  void sum(run_figures& f, const Columns& c) {
    taxi::query_sums sums;
    f.seconds = seconds_of([&] { sums = runner_.run(c, columns_); });
    bool right = sums.failed == 0 && sums.trips == data_.right(0);
    for (std::uint32_t k = 0; k < columns_; ++k) right &= sums.values[k] == data_.right(1 + k);
    if (!right) throw std::runtime_error("wrong sums");
  }

  trip_data& data_;
  std::uint32_t columns_;
  std::uint32_t value_page_;
  support::on_memory place_;
  taxi::query_runner<support::on_memory> runner_;
};

inline void taxi_query(benchmark::State& state, std::uint32_t columns) {
  query_on_peers query(columns);
  compare_peers(state, figure_names{"needed_GB_per_s", "moved_per_needed"}, round_count(),
                [&](peer p, std::uint32_t) { return query.run(p); });
}

}  // namespace gnstor::benchmarks

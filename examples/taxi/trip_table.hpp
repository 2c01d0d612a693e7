#pragma once

#include "../graph/parallel.hpp"
#include "trips.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace taxi {

/// Trips in this machine's memory, a vector per column.
struct trip_table {
  std::array<std::vector<std::uint32_t>, 1 + value_columns> columns;

  std::uint64_t rows() const { return columns[0].size(); }
};

inline trip_table draw_trips(const trip_options& o, std::uint64_t rows) {
  trip_table t;
  for (std::uint32_t c = 0; c < t.columns.size(); ++c) {
    auto& column = t.columns[c];
    column.resize(rows);
    constexpr std::uint64_t block = 1 << 16;
    graph::for_each_index(graph::worker_count(0), (rows + block - 1) / block, [&](std::uint64_t b) {
      for (std::uint64_t k = b * block; k < rows && k < (b + 1) * block; ++k)
        column[k] = drawn_trip(o, k, c);
    });
  }
  return t;
}

/// What a query has to find.
struct query_reference {
  std::uint64_t trips = 0;
  std::array<std::uint64_t, value_columns> values{};
};

/// By one thread of this CPU: all five sums.
inline query_reference sum_long_trips_of(const trip_table& t) {
  query_reference r;
  for (std::uint64_t row = 0; row < t.rows(); ++row) {
    if (t.columns[0][row] <= long_trip_seconds) continue;
    ++r.trips;
    for (std::uint32_t k = 0; k < value_columns; ++k) r.values[k] += t.columns[1 + k][row];
  }
  return r;
}

}  // namespace taxi

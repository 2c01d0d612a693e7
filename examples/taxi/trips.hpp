#pragma once

#include <gnstor/core/hash.hpp>

#include <array>
#include <cstdint>

namespace taxi {

/// The columns of Chicago's taxi trips that the queries need, one array each. All are whole
/// numbers, so that sums are exact: seconds, hundredths of a mile, cents.
inline constexpr std::uint32_t value_columns = 5;
inline constexpr std::array<const char*, 1 + value_columns> column_names{
    "Trip Seconds", "Trip Miles", "Fare", "Extras", "Tips", "Tolls"};

/// Trips that take longer are what the queries are about.
inline constexpr std::uint32_t long_trip_seconds = 9000;

/// How trips are drawn where there is no file of them.
struct trip_options {
  std::uint64_t seed = 1;
  std::uint32_t long_per_million = 800;  ///< 0.08 % as in DREAM's data, anywhere among the rows
};

/// Column `column`, 0 the seconds, of trip `row`.
GNSTOR_HD constexpr std::uint32_t drawn_trip(const trip_options& o, std::uint64_t row,
                                             std::uint32_t column) {
  const std::uint64_t trip = gnstor::mix64(row * 2 + o.seed * 0x9e3779b97f4a7c15u);
  const bool is_long = trip % 1'000'000 < o.long_per_million;
  const auto much = static_cast<std::uint32_t>(trip >> 40);
  const std::uint32_t seconds = is_long ? long_trip_seconds + 1 + much % 20'000 : 60 + much % 3'600;
  if (column == 0) return seconds;
  const auto draw = static_cast<std::uint32_t>(gnstor::mix64(trip + column) >> 32);
  switch (column) {
    case 1: return seconds / 3 + draw % 500;        // about 12 miles an hour
    case 2: return 325 + seconds + draw % 1'000;    // a fare by time and distance
    case 3: return draw % 4 == 0 ? draw % 600 : 0;  // extras: some trips
    case 4: return draw % 2 == 0 ? draw % 900 : 0;  // tips: those paid by card
    default: return draw % 16 == 0 ? 50 + draw % 700 : 0;
  }
}

}  // namespace taxi

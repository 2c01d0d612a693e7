#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::nvme {

/// A number of 128 bits, the low half first.
struct wide_count {
  std::uint64_t low;
  std::uint64_t high;
};

/// Log page 02h: a controller's health and what it was asked to do. NVMe Base 2.3, 5.1.12.1, "SMART
/// / Health Information".
///
/// Fields that neither side of gnstor reads or sets are reserved here.
struct health_log {
  std::uint8_t critical_warning;
  std::uint8_t temperature[2];  ///< composite, in kelvin, little endian at an odd place
  std::uint8_t spare_percent;   ///< what is left of it
  std::uint8_t spare_threshold_percent;
  std::uint8_t used_percent;
  std::uint8_t reserved6[26];
  wide_count data_units_read;     ///< in thousands of 512 bytes, rounded up
  wide_count data_units_written;  ///< likewise
  wide_count host_reads;          ///< commands
  wide_count host_writes;         ///< commands
  wide_count busy_minutes;        ///< with I/O commands outstanding
  wide_count power_cycles;
  wide_count power_on_hours;
  wide_count unsafe_shutdowns;
  wide_count media_errors;
  wide_count error_log_entries;  ///< in its life
  std::uint8_t reserved192[320];
};

/// Thousands of 512 bytes, as the health log counts data, rounded up.
GNSTOR_HD constexpr std::uint64_t data_units(std::uint64_t sectors) {
  return (sectors + 999) / 1000;
}

static_assert(sizeof(health_log) == 512 && std::is_trivial_v<health_log>);
static_assert(offsetof(health_log, temperature) == 1);
static_assert(offsetof(health_log, spare_percent) == 3);
static_assert(offsetof(health_log, spare_threshold_percent) == 4);
static_assert(offsetof(health_log, used_percent) == 5);
static_assert(offsetof(health_log, data_units_read) == 32);
static_assert(offsetof(health_log, data_units_written) == 48);
static_assert(offsetof(health_log, host_reads) == 64);
static_assert(offsetof(health_log, host_writes) == 80);
static_assert(offsetof(health_log, busy_minutes) == 96);
static_assert(offsetof(health_log, power_on_hours) == 128);
static_assert(offsetof(health_log, unsafe_shutdowns) == 144);
static_assert(offsetof(health_log, media_errors) == 160);
static_assert(offsetof(health_log, error_log_entries) == 176);
static_assert(data_units(1000) == 1 && data_units(1001) == 2);

}  // namespace gnstor::wire::nvme

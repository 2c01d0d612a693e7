#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::nvme {

/// One entry of log page 01h; all zeroes where there was no error. NVMe Base 2.3, 5.1.12.1, "Error
/// Information".
struct error_log_entry {
  std::uint64_t error_count;
  std::uint16_t sqid;
  std::uint16_t command_id;
  std::uint16_t status;
  std::uint16_t parameter;
  std::uint64_t lba;
  std::uint32_t nsid;
  std::uint8_t reserved28[36];
};

static_assert(sizeof(error_log_entry) == 64 && std::is_trivial_v<error_log_entry>);
static_assert(offsetof(error_log_entry, sqid) == 8);
static_assert(offsetof(error_log_entry, command_id) == 10);
static_assert(offsetof(error_log_entry, status) == 12);
static_assert(offsetof(error_log_entry, parameter) == 14);
static_assert(offsetof(error_log_entry, lba) == 16);
static_assert(offsetof(error_log_entry, nsid) == 24);

}  // namespace gnstor::wire::nvme

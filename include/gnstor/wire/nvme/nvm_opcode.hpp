#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::nvme {

/// Commands of an I/O queue. NVM Command Set 1.2, 3.3; Flush is in NVMe Base 2.3, 7.2.
enum class nvm_opcode : std::uint8_t {
  flush = 0x00,
  write = 0x01,
  read = 0x02,
  write_uncorrectable = 0x04,
  compare = 0x05,
  write_zeroes = 0x08,
  dataset_management = 0x09,
  verify = 0x0c,
};

}  // namespace gnstor::wire::nvme

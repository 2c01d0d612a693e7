#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::nvme {

/// What a controller says of the NVM command set: the answer to Identify with CNS 06h and command
/// set 0. NVM Command Set 1.2, 4.1.5, "I/O Command Set Specific Identify Controller Data
/// Structure".
///
/// A limit of 0 is none. The exponents count in pages of CAP.MPSMIN.
struct identify_nvm_controller {
  std::uint8_t vsl;     ///< exponent of the most that a Verify reads
  std::uint8_t wzsl;    ///< exponent of the most that a Write Zeroes makes zero
  std::uint8_t wusl;    ///< exponent of the most of a Write Uncorrectable
  std::uint8_t dmrl;    ///< ranges of a Dataset Management command
  std::uint32_t dmrsl;  ///< blocks of one range
  std::uint64_t dmsl;   ///< blocks of all its ranges
  std::uint8_t reserved16[4080];
};

static_assert(sizeof(identify_nvm_controller) == 4096);
static_assert(std::is_trivial_v<identify_nvm_controller>);
static_assert(offsetof(identify_nvm_controller, wzsl) == 1);
static_assert(offsetof(identify_nvm_controller, dmrl) == 3);
static_assert(offsetof(identify_nvm_controller, dmrsl) == 4);
static_assert(offsetof(identify_nvm_controller, dmsl) == 8);

}  // namespace gnstor::wire::nvme

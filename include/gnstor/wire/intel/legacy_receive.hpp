#pragma once

#include <gnstor/wire/intel/gigabit_receive.hpp>

namespace gnstor::wire::intel {

/// The legacy receive format, which the 82540, the 82574 and the 82599 know: length at 8, checksum
/// at 10, status at 12, errors at 13, VLAN at 14. 82574 datasheet, 7.1.3.
struct legacy_receive : gigabit_receive<8> {
  GNSTOR_HD static constexpr std::uint32_t& done_word(descriptor& d) { return d.upper; }
  GNSTOR_HD static constexpr std::uint32_t& other_word(descriptor& d) { return d.lower; }
};

}  // namespace gnstor::wire::intel

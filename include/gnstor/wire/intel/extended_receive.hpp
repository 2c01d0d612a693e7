#pragma once

#include <gnstor/wire/intel/gigabit_receive.hpp>

namespace gnstor::wire::intel {

/// The extended receive format of the 82574 (QEMU's e1000e), selected in RFCTL.
///
/// Status and length lie where `advanced_receive` has them; the errors do not. 82574 datasheet,
/// 7.1.4.
struct extended_receive : gigabit_receive<24> {
  GNSTOR_HD static constexpr std::uint32_t& done_word(descriptor& d) { return d.lower; }
  GNSTOR_HD static constexpr std::uint32_t& other_word(descriptor& d) { return d.upper; }
};

}  // namespace gnstor::wire::intel

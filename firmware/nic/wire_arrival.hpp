#pragma once

#include <gnstor/wire/intel/frame_error.hpp>

#include <nic/wire_faults.hpp>

namespace gnstor::fw {

/// What a wire has for its port just now.
struct wire_arrival {
  enum class kind : std::uint8_t {
    none,     ///< nothing
    dropped,  ///< a frame that came and went: it has been counted
    frame,    ///< one that wants a descriptor
  };

  kind what = kind::none;
  std::uint32_t bytes = 0;
  wire::intel::frame_error error = wire::intel::frame_error::none;
  bool is_checked = false;   ///< its IP checksum was looked at
  std::uint64_t number = 0;  ///< the wire's own
  wire_faults::fate fate = wire_faults::fate::sound;

  /// True if it comes as it was made.
  GNSTOR_HD constexpr bool is_good() const {
    return fate == wire_faults::fate::sound || fate == wire_faults::fate::duplicated;
  }
};

}  // namespace gnstor::fw

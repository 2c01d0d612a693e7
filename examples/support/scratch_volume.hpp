#pragma once

#include <gnstor/host/error.hpp>
#include <gnstor/host/session.hpp>

#include <cstdint>

namespace support {

/// A volume that lives as long as this object. The session outlives it.
class scratch_volume {
 public:
  scratch_volume(gnstor::host::session& s, std::uint64_t bytes)
      : session_(&s), volume_(s.create_volume({.bytes = bytes})) {}
  scratch_volume(const scratch_volume&) = delete;
  scratch_volume& operator=(const scratch_volume&) = delete;
  ~scratch_volume() {
    try {
      session_->delete_volume(volume_.vid);
    } catch (const gnstor::host::error&) {
      // The array is failing: whoever used the volume knows.
    }
  }

  const gnstor::volume_info& info() const { return volume_; }

 private:
  gnstor::host::session* session_;
  gnstor::volume_info volume_;
};

}  // namespace support

#pragma once

#include <gnstor/array/remote_array.hpp>
#include <gnstor/host/array_ground.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>

#include <cstdint>

namespace gnstor::host {

/// A volume as what an `array` lies on. The session must outlive it.
class volume_pages {
 public:
  using store_type = volume_store<remote_volume>;

  volume_pages(session& s, const volume_info& volume) : session_(&s), volume_(volume) {}

  detail::array_ground ground() const;
  store_type store(std::uint32_t page_bytes) const {
    const volume_info v = page_bytes < block_bytes ? volume_.in_logical_blocks() : volume_;
    return store_type(session_->ref(v), page_bytes >> v.unit_shift);
  }
  void attach(executor& run) const { session_->attach(run); }
  static constexpr std::uint32_t pager_warps = 64;  ///< of a GPU, unless the user says otherwise
  /// Ends what requests that were given up may still do: resets the session's channels.
  void end_requests() const;
  /// Pages were written back.
  void changed() const {}
  /// Moves bytes of the volume's. Throws what `session::read` and `write` throw.
  void read(std::uint64_t offset, void* to, std::uint64_t bytes) const;
  void write(std::uint64_t offset, const void* from, std::uint64_t bytes) const;

 private:
  session* session_;
  volume_info volume_;
};

}  // namespace gnstor::host

#pragma once

#include <gnstor/host/session.hpp>

#include <cstdint>

namespace gnstor::baseline {

/// A volume whose I/O registers its memory first and takes the registration back after: what a
/// storage stack does that is handed any pointer (GNStor, section 3).
///
/// For this CPU's memory and threads: nobody registers memory from inside a kernel.
class registered_per_io {
 public:
  registered_per_io(host::session& session, const volume_info& volume)
      : session_(session), volume_(session.ref(volume)) {}

  /// As `volume_ref::read`, into any memory that starts at a page. Memory that is left behind stays
  /// registered.
  status read(vba first, std::uint32_t blocks, void* to, deadline d) const {
    return with(to, blocks, [&](const io_buffer& b) { return volume_.read(first, blocks, b, d); });
  }
  status write(vba first, std::uint32_t blocks, void* from, deadline d) const {
    return with(from, blocks,
                [&](const io_buffer& b) { return volume_.write(first, blocks, b, d); });
  }

 private:
  template <class Io>
  status with(void* memory, std::uint32_t blocks, const Io& io) const {
    const io_buffer buffer = session_.register_memory(memory, std::uint64_t{blocks} * block_bytes);
    const status s = io(buffer);
    if (!s.left_behind()) session_.unregister_memory(buffer);
    return s;
  }

  host::session& session_;
  remote_volume volume_;
};

}  // namespace gnstor::baseline

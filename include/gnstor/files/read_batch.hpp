#pragma once

#include <gnstor/core/deadline.hpp>
#include <gnstor/core/status.hpp>
#include <gnstor/files/file_piece.hpp>
#include <gnstor/memory/io_buffer.hpp>
#include <gnstor/simt/clock.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// A part of a file that is to be read into a batch's memory.
struct file_read {
  std::uint64_t device_offset = 0;  ///< `file_piece::nowhere`: zeroes
  std::uint64_t to = 0;             ///< offset in the memory
  std::uint32_t bytes = 0;          ///< whole logical blocks, unless it is zeroes
  std::uint32_t valid = 0;          ///< bytes of them that are the file's; the rest becomes zeroes
};
static_assert(sizeof(file_read) == 24 && std::is_trivially_copyable_v<file_read>);

/// The kernel that reads a batch: each lane has one part under way.
/// @tparam Reader as of `file_store`
struct read_batch {
  template <class Lane, class Reader>
  GNSTOR_HD void operator()(Lane& lane, Reader reader, const file_read* reads, std::uint32_t count,
                            io_buffer memory, std::uint64_t timeout_ns,
                            std::uint64_t* outcomes) const {
    for (std::uint64_t k = lane.global_thread(); k < count; k += lane.grid_threads()) {
      const file_read r = reads[k];
      std::uint64_t there = 0;
      status s;
      if (r.device_offset != file_piece::nowhere) {
        s = reader.read(r.device_offset, r.bytes, memory.slice(r.to, r.bytes),
                        simt::within(timeout_ns));
        there = r.valid;
      }
      auto* const bytes = reinterpret_cast<unsigned char*>(memory.address + r.to);
      for (std::uint64_t at = there; at < r.bytes; ++at) bytes[at] = 0;
      outcomes[k] = s.pack();
    }
  }
};

}  // namespace gnstor::inline v0

#pragma once

#include <afa/node.hpp>
#include <deengine/page_crc.hpp>

namespace gnstor::fw {

/// How a read ends whose data is not what was written.
inline constexpr std::uint16_t damaged_page =
    wire::nvme::make_status(wire::nvme::media_status::unrecovered_read_error);

/// Copies pages of flash to clients' memory and compares each with its CRC, for the lanes whose
/// ranks are in `reads`, one after another by all lanes. One call, away from the hot path.
/// @param flash, memory, expected each lane's own: addresses, and `engine_ref::seal_of`
/// @par Callers as `copy_page`, within the pages' grace period or pins
/// @par Result in every lane: the ranks whose data is not what was written
GNSTOR_HD_SLOW inline std::uint32_t checked_reads(const simt::group g, std::uint32_t reads,
                                                  std::uint64_t flash, std::uint64_t memory,
                                                  std::uint32_t expected) {
  std::uint32_t damaged = 0;
  for (std::uint32_t left = reads; left != 0; left &= left - 1) {
    const int rank = cuda::std::countr_zero(left);
    const std::uint32_t found = copy_page(g, reinterpret_cast<void*>(g.shfl(flash, rank)),
                                          reinterpret_cast<void*>(g.shfl(memory, rank)), false);
    if (g.broadcast(found) != g.shfl(expected, rank)) damaged |= left & (0 - left);
  }
  return damaged;
}

}  // namespace gnstor::fw

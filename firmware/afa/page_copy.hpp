#pragma once
/// How a page moves between flash and a client's memory, with its CRC.

#include <afa/node.hpp>
#include <deengine/page_crc.hpp>
#include <hca/transfer.hpp>

namespace gnstor::fw {

/// How a read ends whose data is not what was written.
inline constexpr std::uint16_t damaged_page =
    wire::nvme::make_status(wire::nvme::media_status::unrecovered_read_error);

/// How a read ends that finds nothing where its blocks may no longer belong.
inline constexpr std::uint16_t overtaken = wire::afa::make_status(wire::afa::status::stale_epoch);

/// Copies one page between flash and a client's memory and computes the CRC-32C of what was copied.
/// @param flash aligned to 16
/// @param in true: from `memory` into `flash`; false: the other way
/// @par Callers every lane of `g`, converged; on a GPU a whole warp
/// @par Result the CRC, in the leader
/// @par Order as `transfer`
GNSTOR_HD_INLINE std::uint32_t copy_page(const simt::group& g, void* flash, void* memory, bool in) {
  void* to = in ? flash : memory;
  const void* from = in ? memory : flash;
#if defined(__CUDA_ARCH__)
  const std::uint32_t lane = g.thread_rank();
  gnstor::detail::page_in_warp page;
  const bool aligned = reinterpret_cast<std::uint64_t>(memory) % 16 == 0;
  if (!aligned) {
    transfer(g, to, from, block_bytes);
    g.sync();
  }
  const gnstor::detail::shift_in_warp<512> row(lane);  // comes with the page
  page.load(aligned ? from : flash, lane);
  if (aligned) page.store(to, lane);
  return page.crc(lane, row);
#else
  if (in) {
    transfer(g, to, from, block_bytes);
  } else {
    deliver(g, to, from, block_bytes);
  }
  g.sync();
  return g.leads() ? gnstor::detail::page_crc_here(flash) : 0;
#endif
}

/// Copies pages of flash to clients' memory and compares each with its CRC, for the lanes whose
/// ranks are in `reads`, one after another by all lanes. One call, away from the hot path.
///
/// A client that gave a silent SSD up may have the block from another by now, in the same memory: a
/// CPU does not touch that for a page it finds damaged. On a GPU the page is on its way before its
/// CRC is known.
/// @param flash, memory, expected each lane's own: addresses, and `engine_ref::seal_of`
/// @par Callers as `copy_page`, within the pages' quiescence period or pins
/// @par Result in every lane: the ranks whose data is not what was written
GNSTOR_HD_SLOW inline std::uint32_t checked_reads(const simt::group g, std::uint32_t reads,
                                                  std::uint64_t flash, std::uint64_t memory,
                                                  std::uint32_t expected) {
  std::uint32_t damaged = 0;
  for (std::uint32_t left = reads; left != 0; left &= left - 1) {
    const int rank = cuda::std::countr_zero(left);
    auto* from = reinterpret_cast<void*>(g.shfl(flash, rank));
    auto* to = reinterpret_cast<void*>(g.shfl(memory, rank));
#if defined(__CUDA_ARCH__)
    const std::uint32_t found = copy_page(g, from, to, false);
#else
    const std::uint32_t found = g.leads() ? gnstor::detail::page_crc_here(from) : 0;
#endif
    const bool sound = g.broadcast(found) == g.shfl(expected, rank);
    if (!sound) damaged |= left & (0 - left);
#if !defined(__CUDA_ARCH__)
    if (sound) deliver(g, to, from, block_bytes);
#endif
  }
  return damaged;
}

}  // namespace gnstor::fw

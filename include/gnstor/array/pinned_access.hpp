#pragma once
/// What groups of lanes do with a page that one of them pins, whoever fetches it.

#include <gnstor/array/page_use.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/simt/block_group.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/fence.hpp>
#include <gnstor/simt/group.hpp>

namespace gnstor::detail {

/// Marks a packed status among packed frames: no status uses the top bit (SSD indices are below
/// 32768).
inline constexpr std::uint64_t failed_access = 1ull << 63;

/// Pins `page` for all lanes of `g`, by itself or by the lane of rank 0.
/// @par Callers every lane of `g`, converged, with the same arguments
template <simt::warp_group G, class Pages>
GNSTOR_HD result<frame_index> pin_for(const G& g, const Pages& pages, page_index page, page_use use,
                                      std::uint64_t timeout_ns) {
  if constexpr (requires { pages.pin(g, page, use, simt::within(timeout_ns)); }) {
    return pages.pin(g, page, use, simt::within(timeout_ns));
  } else {
    result<frame_index> frame = frame_index{};
    if (g.thread_rank() == 0) frame = pages.pin(page, use, simt::within(timeout_ns));
    const std::uint64_t packed =
        g.shfl(frame ? frame.value.value : frame.status.pack() | failed_access, 0);
    if ((packed & failed_access) != 0) return status::unpack(packed & ~failed_access);
    return frame_index(static_cast<std::uint32_t>(packed));
  }
}

/// Calls `body(bytes)` with the bytes of `page` while it is pinned, once for all lanes that want
/// the same.
/// @param pages has `alike`, `pin`, `unpin` and `data`
/// @par Callers any lanes, converged or not; each with a page of its own, also of another array
template <class Pages, class Body>
GNSTOR_HD status visit_pinned(const Pages& pages, page_index page, page_use use,
                              std::uint64_t timeout_ns, const Body& body) {
  // Lanes of one warp may use different arrays here, and some may read while others write.
  const simt::group same = pages.alike(simt::group::active(), page, use);
  const result<frame_index> frame = pin_for(same, pages, page, use, timeout_ns);
  same.sync();  // the leader's acquire of the page reaches the lanes that touch it
  if (!frame) return frame.status;
  // What is stored now is newer than the frame's pages before: see `page_table::is_still`.
  if (use != page_use::read) simt::fence<thread_scope_device>(acq_rel);
  body(pages.data(frame.value));
  same.sync();  // all lanes are done before the leader lets the page go
  if (same.leads()) pages.unpin(page);
  return status{};
}

/// Pins `page` for all lanes of `g`, until one `unpin`.
/// @par Callers every lane of `g`, converged, with the same arguments
/// @par Order acquires the page's bytes for every lane
template <simt::warp_group G, class Pages>
GNSTOR_HD result<frame_index> hold_pinned(const G& g, const Pages& pages, page_index page,
                                          page_use use, std::uint64_t timeout_ns) {
  const result<frame_index> frame = pin_for(g, pages, page, use, timeout_ns);
  g.sync();
  if (use != page_use::read) simt::fence<thread_scope_device>(acq_rel);  // as in `visit_pinned`
  return frame;
}

/// The same for all threads of a block: its first warp pins.
/// @par Callers every thread of `block`, with the same arguments
template <class Pages>
GNSTOR_HD result<frame_index> hold_of(const simt::block_group& block, const Pages& pages,
                                      page_index page, page_use use, std::uint64_t timeout_ns) {
  // Nobody is pinned for threads that wait for another page before they come here.
  block.sync();
  std::uint64_t packed = 0;
  if (block.is_first_warp()) {
    const result<frame_index> frame = pages.hold(block.warp(), page, use, timeout_ns);
    packed = frame ? frame.value.value : frame.status.pack() | failed_access;
  }
  packed = block.broadcast(packed);
  if ((packed & failed_access) != 0) return status::unpack(packed & ~failed_access);
  if (use != page_use::read) simt::fence<thread_scope_device>(acq_rel);  // of the other warps
  return frame_index(static_cast<std::uint32_t>(packed));
}
template <simt::warp_group G, class Pages>
GNSTOR_HD result<frame_index> hold_of(const G& g, const Pages& pages, page_index page, page_use use,
                                      std::uint64_t timeout_ns) {
  return pages.hold(g, page, use, timeout_ns);
}

}  // namespace gnstor::detail

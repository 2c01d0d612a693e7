#pragma once
/// What a whole group of lanes does that miss pages, each its own.

#include <gnstor/array/page_use.hpp>
#include <gnstor/core/status.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/simt/warp.hpp>

#include <cuda/std/bit>

namespace gnstor::detail {

/// Calls `body(bytes)` in the lanes that want their page, with its bytes, while it is pinned.
///
/// A group stays whole: where the pages know no groups, lanes that want nothing help with a page of
/// one that does. Collectives of a part of a warp cost hundreds of cycles each.
/// @param pages the same in all lanes
/// @par Callers every lane of `g`, converged; one at least wants a page
/// @par Bound `timeout_ns`
/// @par Errors as `visit` of `pages`, each lane its own; `body` is not called then
template <simt::warp_group G, class Pages, class Body>
GNSTOR_HD status visit_together(const G& g, const Pages& pages, page_index page, page_use use,
                                bool wants, std::uint64_t timeout_ns, const Body& body) {
  if constexpr (requires { pages.visit(g, page, use, wants, timeout_ns, body); }) {
    return pages.visit(g, page, use, wants, timeout_ns, body);
  } else {
    const int someone = cuda::std::countr_zero(static_cast<std::uint32_t>(g.ballot(wants)));
    const page_index theirs(g.shfl(page.value, someone));
    const status s = pages.visit(wants ? page : theirs, use, timeout_ns, [&](unsigned char* bytes) {
      if (wants) body(bytes);
    });
    return wants ? s : status{};
  }
}

}  // namespace gnstor::detail

#pragma once

#include <gnstor/core/deadline.hpp>

namespace gnstor::inline v0 {

/// How long lanes that send together insist on request slots for all of them.
///
/// A quarter of the time that their deadline leaves, and never longer than the table thinks worth
/// it: whatever keeps the slots apart, a request still goes out in time.
struct slot_patience {
  std::uint64_t waited_ns = 0;  ///< since there was no room; 0 in the first attempt
  std::uint64_t before_ns = 0;  ///< what `waited_ns` was the time before
  std::uint64_t most_ns = 0;    ///< 0: none at all, each lane takes what there is

  /// Of lanes that have not been refused yet.
  GNSTOR_HD static constexpr slot_patience fresh() { return {.most_ns = ~std::uint64_t{0}}; }

  /// There was no room at `now_ns`, the first time at `since_ns`.
  GNSTOR_HD constexpr void refused(std::uint64_t since_ns, std::uint64_t now_ns, deadline d) {
    before_ns = waited_ns;
    waited_ns = now_ns - since_ns + 1;
    most_ns = d.expired(since_ns) ? 0 : (d.at_ns() - since_ns) / 4;
  }
};

}  // namespace gnstor::inline v0

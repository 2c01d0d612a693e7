#pragma once

#include <gnstor/core/deadline.hpp>

namespace gnstor::detail {

/// How long lanes that send together insist on request slots for all of them.
///
/// A quarter of the time that their deadline leaves, and no longer than the table thinks worth it
/// when they are refused first: whatever keeps the slots apart, a request still goes out in time.
struct slot_patience {
  std::uint64_t waited_ns = 0;  ///< since there was no room; 0 in the first attempt
  std::uint64_t before_ns = 0;  ///< what `waited_ns` was the time before
  std::uint64_t most_ns = 0;    ///< 0: none at all, each lane takes what there is
  bool by_deadline = false;     ///< the deadline is what makes it so short

  /// Of lanes that have not been refused yet.
  GNSTOR_HD static constexpr slot_patience fresh() { return {.most_ns = ~std::uint64_t{0}}; }

  /// There was no room at `now_ns`, the first time; requests end at `d`.
  /// @param worth_ns what the table thinks worth it
  GNSTOR_HD constexpr void begin(std::uint64_t now_ns, deadline d, std::uint64_t worth_ns) {
    const std::uint64_t share_ns = d.expired(now_ns) ? 0 : (d.at_ns() - now_ns) / 4;
    by_deadline = share_ns < worth_ns;
    most_ns = by_deadline ? share_ns : worth_ns;
    waited_ns = 1;
  }
  /// There is no room yet, `for_ns` later than the first time.
  GNSTOR_HD constexpr void go_on(std::uint64_t for_ns) {
    before_ns = waited_ns;
    waited_ns = for_ns + 1;
  }
};

}  // namespace gnstor::detail

#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::inline v0 {

/// An absolute point in time, in nanoseconds of `simt::now_ns()`, after which a wait gives up.
///
/// A plain value without a clock of its own, so that the simulator can drive it.
class deadline {
 public:
  /// A deadline that never expires. Use it only where the peer cannot fail, for example in livelock
  /// tests.
  GNSTOR_HD static constexpr deadline never() { return deadline(~std::uint64_t{0}); }

  /// The deadline `timeout_ns` nanoseconds after `now_ns`; saturates instead of wrapping.
  GNSTOR_HD static constexpr deadline after(std::uint64_t now_ns, std::uint64_t timeout_ns) {
    return deadline(now_ns + timeout_ns < now_ns ? ~std::uint64_t{0} : now_ns + timeout_ns);
  }

  GNSTOR_HD constexpr bool expired(std::uint64_t now_ns) const { return now_ns >= at_ns_; }
  GNSTOR_HD constexpr std::uint64_t at_ns() const { return at_ns_; }

 private:
  GNSTOR_HD constexpr explicit deadline(std::uint64_t at_ns) : at_ns_(at_ns) {}
  std::uint64_t at_ns_;
};

static_assert(deadline::after(1, ~std::uint64_t{0}).at_ns() == deadline::never().at_ns());
static_assert(deadline::after(10, 5).expired(15) && !deadline::after(10, 5).expired(14));

}  // namespace gnstor::inline v0

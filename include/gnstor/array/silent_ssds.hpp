#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/core/deadline.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/clock.hpp>

#include <cuda/std/bit>

namespace gnstor::detail {

/// The SSDs that fell silent lately while pages were fetched from them (a reference): others are
/// asked first for a while.
class silent_ssds {
 public:
  /// @param ssds by bit @param until_ns `deadline::at_ns` of the time until when that counts; both
  /// shared by all lanes
  GNSTOR_HD silent_ssds(std::uint64_t& ssds, std::uint64_t& until_ns)
      : ssds_(ssds), until_ns_(until_ns) {}

  /// True while an SSD counts as silent.
  GNSTOR_HD bool any() const { return ssds_.load(relaxed) != 0; }

  GNSTOR_HD void remember(ssd_index ssd) const {
    until_ns_.store(deadline::after(simt::now_ns(), silence_ns).at_ns(), relaxed);
    ssds_.fetch_or(std::uint64_t{1} << ssd.value % 64, relaxed);
  }

  /// The store that asks others.
  template <class Store>
  GNSTOR_HD Store avoided_by(Store store) const {
    const deadline until = deadline::after(0, until_ns_.load(relaxed));
    if (until.expired(simt::now_ns())) ssds_.store(0, relaxed);
    std::uint64_t silent = ssds_.load(relaxed);
    for (bounded left{64}; silent != 0 && left; silent &= silent - 1)
      store = store.avoiding(ssd_index(static_cast<std::uint16_t>(cuda::std::countr_zero(silent))));
    return store;
  }

 private:
  static constexpr std::uint64_t silence_ns = 1'000'000'000;  ///< until one is tried again

  device_word<std::uint64_t> ssds_;
  device_word<std::uint64_t> until_ns_;
};

}  // namespace gnstor::detail

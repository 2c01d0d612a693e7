#pragma once

#include <gnstor/io/placement.hpp>

namespace gnstor::inline v0 {

/// Stripes dealt out over SSDs in turn, as RAID 0 does: stripe s lies on SSD s mod N, behind that
/// SSD's earlier ones. So SSDs of plain namespaces, whose blocks are where their addresses say, are
/// filled from their beginnings on and all alike.
class round_robin_placement {
 public:
  /// @param ssd_count at least 1
  GNSTOR_HD constexpr explicit round_robin_placement(std::uint32_t ssd_count)
      : ssd_count_(ssd_count) {}

  GNSTOR_HD constexpr std::uint32_t ssd_count() const { return ssd_count_; }

  /// The one SSD of `stripe`, whatever is asked for: there are no replicas.
  GNSTOR_HD constexpr replica_set replicas(volume_id, std::uint64_t, std::uint32_t stripe,
                                           std::uint32_t) const {
    replica_set one;
    one.count = 1;
    one.ssd.set(0, ssd_index(static_cast<std::uint16_t>(stripe % ssd_count_)));
    return one;
  }
  /// Which of its SSD's stripes `stripe` is.
  GNSTOR_HD constexpr std::uint32_t row(std::uint32_t stripe) const { return stripe / ssd_count_; }

 private:
  std::uint32_t ssd_count_;
};

static_assert(placement<round_robin_placement>);
static_assert(round_robin_placement(3).replicas(volume_id(1), 0, 7, 2).ssd[0].value == 1);
static_assert(round_robin_placement(3).row(7) == 2);

}  // namespace gnstor::inline v0

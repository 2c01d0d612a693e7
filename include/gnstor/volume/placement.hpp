#pragma once

#include <gnstor/core/hash.hpp>
#include <gnstor/volume/replica_set.hpp>

#include <concepts>

namespace gnstor::inline v0 {

/// A pure function from a stripe of a volume to the SSDs that hold it. Client and SSD compute the
/// same.
template <class P>
concept placement = requires(const P& p, volume_id vid, std::uint64_t factor, std::uint32_t stripe,
                             std::uint32_t n) {
  { p.replicas(vid, factor, stripe, n) } -> std::same_as<replica_set>;
  { p.ssd_count() } -> std::convertible_to<std::uint32_t>;
};

/// Rendezvous (highest random weight) hashing over the SSD list of an epoch (Thaler and
/// Ravishankar, 1998).
///
/// Each SSD scores each stripe; the best scores are its replicas. When an SSD joins or leaves only
/// its own share moves: 1/N of the data. Cost: one hash an SSD.
class rendezvous_placement {
 public:
  GNSTOR_HD constexpr explicit rendezvous_placement(std::uint32_t ssd_count)
      : ssd_count_(ssd_count) {}

  GNSTOR_HD constexpr std::uint32_t ssd_count() const { return ssd_count_; }

  /// The `replica_count` best SSDs for `stripe` (= VBA / blocks a stripe) of the volume, best
  /// first; fewer if the array has fewer SSDs.
  GNSTOR_HD constexpr replica_set replicas(volume_id vid, std::uint64_t hash_factor,
                                           std::uint32_t stripe,
                                           std::uint32_t replica_count) const {
    const std::uint64_t key = mix64(hash_factor ^ mix64(std::uint64_t{vid.value} << 32 | stripe));
    replica_set best;
    std::uint64_t score[max_replicas] = {};
    const std::uint32_t want = replica_count < max_replicas ? replica_count : max_replicas;
    for (std::uint32_t s = 0; s < ssd_count_; ++s) {
      const std::uint64_t mine = mix64(key ^ (0x9E3779B97F4A7C15ull * (s + 1)));
      std::uint32_t at = best.count;
      for (; at > 0 && score[at - 1] < mine; --at) {
        if (at < want) {
          score[at] = score[at - 1];
          best.ssd[at] = best.ssd[at - 1];
        }
      }
      if (at < want) {
        score[at] = mine;
        best.ssd[at] = ssd_index(static_cast<std::uint16_t>(s));
        if (best.count < want) ++best.count;
      }
    }
    return best;
  }

 private:
  std::uint32_t ssd_count_;
};

static_assert(placement<rendezvous_placement>);
static_assert(rendezvous_placement(4).replicas(volume_id(1), 7, 0, 2).count == 2);
static_assert(rendezvous_placement(1).replicas(volume_id(1), 7, 0, 2).count == 1);

}  // namespace gnstor::inline v0

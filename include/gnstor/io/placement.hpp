#pragma once

#include <gnstor/core/hash.hpp>
#include <gnstor/io/replica_set.hpp>

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
/// its own share moves: 1/N of the data. Cost: one hash per SSD.
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
    const std::uint32_t key = key_of(vid, hash_factor, stripe);
    if (replica_count == 2 && ssd_count_ > 1) return best_two(key);
    replica_set best;
    candidate last{~0u, ~0u};
    for (std::uint32_t k = 0; k < max_replicas && k < replica_count && k < ssd_count_; ++k) {
      candidate next{0, ssd_count_};
      for (std::uint32_t s = 0; s < ssd_count_; ++s) {
        const candidate c{score(key, s), s};
        if ((k == 0 || last.beats(c)) && c.beats(next)) next = c;
      }
      best.ssd.set(k, ssd_index(static_cast<std::uint16_t>(next.ssd)));
      best.count = k + 1;
      last = next;
    }
    return best;
  }

  /// True if `who` is among `replicas(...)`: as many hashes, and no list.
  GNSTOR_HD constexpr bool holds(volume_id vid, std::uint64_t hash_factor, std::uint32_t stripe,
                                 std::uint32_t replica_count, ssd_index who) const {
    const std::uint32_t key = key_of(vid, hash_factor, stripe);
    const candidate mine{score(key, who.value), who.value};
    std::uint32_t better = 0;
    for (std::uint32_t s = 0; s < ssd_count_; ++s)
      better += candidate{score(key, s), s}.beats(mine);
    return who.value < ssd_count_ &&
           better < (replica_count < max_replicas ? replica_count : max_replicas);
  }

 private:
  struct candidate {
    std::uint32_t score;
    std::uint32_t ssd;
    /// Of equal scores the SSD that comes first wins.
    GNSTOR_HD constexpr bool beats(const candidate& other) const {
      return score > other.score || (score == other.score && ssd < other.ssd);
    }
  };

  /// The usual number of replicas in one pass.
  GNSTOR_HD constexpr replica_set best_two(std::uint32_t key) const {
    candidate first{score(key, 0), 0};
    candidate second{score(key, 1), 1};
    if (second.score > first.score) {
      const candidate other = first;
      first = second;
      second = other;
    }
    // Later SSDs: one of an equal score loses.
    for (std::uint32_t s = 2; s < ssd_count_; ++s) {
      const candidate c{score(key, s), s};
      const bool wins = c.score > first.score;
      if (wins || c.score > second.score) second = wins ? first : c;
      if (wins) first = c;
    }
    replica_set best;
    best.ssd.set(0, ssd_index(static_cast<std::uint16_t>(first.ssd)));
    best.ssd.set(1, ssd_index(static_cast<std::uint16_t>(second.ssd)));
    best.count = 2;
    return best;
  }

  /// One 64-bit mix a stripe, then a 32-bit mix an SSD, as this is a good part of what a small read
  /// costs its client.
  GNSTOR_HD static constexpr std::uint32_t key_of(volume_id vid, std::uint64_t hash_factor,
                                                  std::uint32_t stripe) {
    const std::uint64_t key = mix64(hash_factor ^ (std::uint64_t{vid.value} << 32 | stripe));
    return static_cast<std::uint32_t>(key >> 32);
  }
  GNSTOR_HD static constexpr std::uint32_t score(std::uint32_t key, std::uint32_t ssd) {
    return mix32(key ^ (0x9E3779B9u * (ssd + 1)));
  }

  std::uint32_t ssd_count_;
};

static_assert(placement<rendezvous_placement>);
static_assert(rendezvous_placement(4).replicas(volume_id(1), 7, 0, 2).count == 2);
static_assert(rendezvous_placement(1).replicas(volume_id(1), 7, 0, 2).count == 1);
static_assert(rendezvous_placement(9).holds(
    volume_id(1), 7, 5, 3, rendezvous_placement(9).replicas(volume_id(1), 7, 5, 3).ssd[2]));
static_assert(!rendezvous_placement(9).holds(
    volume_id(1), 7, 5, 2, rendezvous_placement(9).replicas(volume_id(1), 7, 5, 3).ssd[2]));

}  // namespace gnstor::inline v0

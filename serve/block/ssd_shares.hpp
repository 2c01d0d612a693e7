#pragma once

#include <gnstor/io/placement.hpp>
#include <gnstor/io/volume_info.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace gnstor::serve {

/// Commands that one operation sends to each SSD, at most: one for each stripe that lies there.
class ssd_asks {
 public:
  ssd_asks() = default;
  /// Of `blocks` blocks of a volume from `first` on.
  ssd_asks(const volume_info& v, std::uint64_t first, std::uint64_t blocks) {
    if (v.plain() || v.ssd_count < 2) return;  // there is nothing to share
    const rendezvous_placement where(v.ssd_count);
    const std::uint64_t end = (first + blocks + v.stripe_blocks - 1) / v.stripe_blocks;
    for (std::uint64_t k = first / v.stripe_blocks; k < end; ++k) {
      const replica_set on =
          where.replicas(v.vid, v.hash_factor, static_cast<std::uint32_t>(k), v.replicas);
      for (std::uint32_t n = 0; n < on.count; ++n) add(on.ssd[n].value);
    }
  }
  std::uint64_t ssds() const { return ssds_; }
  std::uint32_t of(std::uint32_t ssd) const { return count_[ssd]; }

 private:
  void add(std::uint32_t ssd) {
    ssds_ |= std::uint64_t{1} << ssd;
    ++count_[ssd];
  }
  std::uint64_t ssds_ = 0;  ///< by bit
  std::array<std::uint16_t, max_ssds> count_{};
};
static_assert(max_ssds == 64, "a bit each");

/// How much of a channel each SSD has: half of it at most, so that one that is silent leaves room
/// for what asks others. Any thread may call.
class ssd_shares {
 public:
  /// @param commands that the channel holds
  explicit ssd_shares(std::uint32_t commands) : most_(commands / 2) {}

  /// Takes what an operation asks, on all of its SSDs or on none. One that is larger than a share
  /// goes alone.
  bool take(const ssd_asks& a) {
    std::uint64_t taken = 0;
    for (std::uint64_t left = a.ssds(); left != 0; left &= left - 1) {
      const auto ssd = static_cast<std::uint32_t>(std::countr_zero(left));
      const std::uint32_t before = under_way_[ssd].fetch_add(a.of(ssd), std::memory_order_relaxed);
      taken |= std::uint64_t{1} << ssd;
      if (before == 0 || before + a.of(ssd) <= most_) continue;
      give(a, taken);
      return false;
    }
    return true;
  }
  void give(const ssd_asks& a) { give(a, a.ssds()); }

 private:
  void give(const ssd_asks& a, std::uint64_t ssds) {
    for (; ssds != 0; ssds &= ssds - 1) {
      const auto ssd = static_cast<std::uint32_t>(std::countr_zero(ssds));
      under_way_[ssd].fetch_sub(a.of(ssd), std::memory_order_relaxed);
    }
  }

  const std::uint32_t most_;
  std::array<std::atomic<std::uint32_t>, max_ssds> under_way_{};
};

}  // namespace gnstor::serve

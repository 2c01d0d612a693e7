#pragma once

#include <gnstor/io/placement.hpp>
#include <gnstor/io/volume_info.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <mutex>

namespace gnstor::serve {

/// What one operation asks of a channel: commands, and SSDs by bit. A read is one command for each
/// piece, though it may be of any replica.
class ssd_asks {
 public:
  ssd_asks() = default;
  /// Of `blocks` blocks of a volume from `first` on. Reads ask no SSD that is absent or filling,
  /// where there is another.
  /// @param most blocks of one command
  ssd_asks(const volume_info& v, std::uint64_t first, std::uint64_t blocks, std::uint32_t most,
           bool reads) {
    const rendezvous_placement where(v.ssd_count);
    for (const std::uint64_t end = first + blocks; first < end;) {
      const auto stripe = static_cast<std::uint32_t>(first / v.stripe_blocks);
      const std::uint64_t next =
          std::min<std::uint64_t>(end, (std::uint64_t{stripe} + 1) * v.stripe_blocks);
      const auto pieces = static_cast<std::uint32_t>((next - first + most - 1) / most);
      first = next;
      // A plain namespace has one SSD.
      const replica_set on = v.plain() ? replica_set{.count = 1}
                                       : where.replicas(v.vid, v.hash_factor, stripe, v.replicas);
      commands_ += reads ? pieces : pieces * on.count;
      std::uint64_t asked = 0;
      for (std::uint32_t n = 0; n < on.count; ++n) asked |= std::uint64_t{1} << on.ssd[n].value;
      const std::uint64_t others = v.others.of(asked);
      if (!reads) commands_ += pieces * static_cast<std::uint32_t>(std::popcount(others));
      asked |= others;
      const std::uint64_t readable = asked & ~(v.absent | v.filling);
      ssds_ |= reads && !v.plain() && readable != 0 ? readable : asked;
    }
  }
  /// Of a flush of a volume: one for each SSD.
  static ssd_asks of_flush(const volume_info& v) {
    ssd_asks a;
    a.ssds_ = v.plain() ? 1 : v.ssds();
    a.commands_ = static_cast<std::uint32_t>(std::popcount(a.ssds_));
    a.is_flush_ = true;
    return a;
  }
  /// Of one command to the SSD of a namespace; of no SSD's share where there is none.
  static ssd_asks of_command(std::uint32_t nsid) {
    ssd_asks a;
    a.commands_ = 1;
    a.ssds_ = nsid - 1 < max_ssds ? std::uint64_t{1} << (nsid - 1) : 0;
    return a;
  }
  std::uint32_t commands() const { return commands_; }
  std::uint64_t ssds() const { return ssds_; }
  /// It may wait for disks, longer than others for SSDs.
  bool is_flush() const { return is_flush_; }

 private:
  std::uint32_t commands_ = 0;
  std::uint64_t ssds_ = 0;
  bool is_flush_ = false;
};
static_assert(max_ssds == 64, "a bit each");

/// How much of a channel is in use, and by what asks which SSD. No operation is begun that the
/// channel has no room for, as its thread would wait in the middle of it. What asks one SSD has
/// three quarters of the channel at most, so that one that is silent leaves room for what asks
/// others; flushes have a quarter, so that nobody waits for a disk who has not asked. Commands that
/// were given up keep their slots of the channel until their late answers: an SSD that has left a
/// quarter of the channel's unanswered is silent, and is asked nothing more before some have come.
/// Any thread may call.
class ssd_shares {
 public:
  /// @param commands that the channel holds
  explicit ssd_shares(std::uint32_t commands)
      : all_(commands), most_(commands - commands / 4), silent_from_(commands / 4) {}

  /// What an operation got.
  enum class outcome : std::uint8_t {
    taken,
    no_room,   ///< in the channel
    no_share,  ///< of an SSD: others may go on
  };
  /// Takes what an operation asks, or nothing. One that is larger than there is goes alone.
  /// @param lacking where `no_share`: that SSD, by bit
  outcome take(const ssd_asks& a, std::uint64_t& lacking) {
    const std::uint64_t silent = a.ssds() & silent_.load(std::memory_order_relaxed);
    if (silent != 0) {
      lacking = silent;
      return outcome::no_share;
    }
    if (!take(under_way_, a.commands(), all_ - lost_.load(std::memory_order_relaxed)))
      return outcome::no_room;
    if (a.is_flush() && !take(flushes_, a.commands(), all_ - most_)) {
      under_way_.fetch_sub(a.commands(), std::memory_order_relaxed);
      lacking = 0;  // of no SSD: what is no flush goes on
      return outcome::no_share;
    }
    std::uint64_t taken = 0;
    for (std::uint64_t left = a.ssds(); left != 0; left &= left - 1) {
      const auto ssd = static_cast<std::uint32_t>(std::countr_zero(left));
      if (!take(by_ssd_[ssd], a.commands(), most_)) {
        give(a, taken);
        lacking = std::uint64_t{1} << ssd;
        return outcome::no_share;
      }
      taken |= std::uint64_t{1} << ssd;
    }
    return outcome::taken;
  }
  void give(const ssd_asks& a) { give(a, a.ssds()); }
  /// An operation that has taken its share gave up commands to these SSDs, by bit.
  void lose(const ssd_asks& a, std::uint64_t ssds) {
    const std::lock_guard lock(losing_);
    owing_.fetch_or(ssds, std::memory_order_relaxed);
    for (; ssds != 0; ssds &= ssds - 1)
      lost_by_ssd_[static_cast<std::uint32_t>(std::countr_zero(ssds))] += a.commands();
    unsettled_.store(true, std::memory_order_relaxed);
  }
  /// True if `settle` has something to do.
  bool has_lost() const { return unsettled_.load(std::memory_order_relaxed); }
  /// Learns how many commands the channel has given up and got no answer for. Which SSD has
  /// answered is not known: those that owe least have.
  void settle(std::uint32_t lost) {
    const std::lock_guard lock(losing_);
    std::uint64_t owed = 0;
    for (const std::uint32_t n : lost_by_ssd_) owed += n;
    for (; owed > lost;) {
      std::uint32_t* least = nullptr;
      for (std::uint32_t& n : lost_by_ssd_)
        if (n != 0 && (least == nullptr || n < *least)) least = &n;
      const auto less = static_cast<std::uint32_t>(std::min<std::uint64_t>(*least, owed - lost));
      *least -= less;
      owed -= less;
    }
    std::uint64_t silent = 0;
    std::uint64_t owing = 0;
    for (std::uint32_t ssd = 0; ssd < max_ssds; ++ssd) {
      silent |= std::uint64_t{lost_by_ssd_[ssd] >= silent_from_} << ssd;
      owing |= std::uint64_t{lost_by_ssd_[ssd] != 0} << ssd;
    }
    owing_.store(owing, std::memory_order_relaxed);
    silent_.store(silent, std::memory_order_relaxed);
    lost_.store(std::min(lost, all_), std::memory_order_relaxed);
    unsettled_.store(owed != 0, std::memory_order_relaxed);
  }
  /// SSDs that owe answers, by bit, as `lose` and `settle` have learned.
  std::uint64_t owing() const { return owing_.load(std::memory_order_relaxed); }
  /// SSDs that are silent, by bit.
  std::uint64_t silent() const { return silent_.load(std::memory_order_relaxed); }

 private:
  using counter = std::atomic<std::uint32_t>;
  static bool take(counter& of, std::uint32_t commands, std::uint32_t most) {
    const std::uint32_t before = of.fetch_add(commands, std::memory_order_relaxed);
    if (before == 0 || before + commands <= most) return true;
    of.fetch_sub(commands, std::memory_order_relaxed);
    return false;
  }
  void give(const ssd_asks& a, std::uint64_t ssds) {
    if (a.is_flush()) flushes_.fetch_sub(a.commands(), std::memory_order_relaxed);
    under_way_.fetch_sub(a.commands(), std::memory_order_relaxed);
    for (; ssds != 0; ssds &= ssds - 1) {
      const auto ssd = static_cast<std::uint32_t>(std::countr_zero(ssds));
      by_ssd_[ssd].fetch_sub(a.commands(), std::memory_order_relaxed);
    }
  }

  const std::uint32_t all_;
  const std::uint32_t most_;         ///< of operations that ask one SSD
  const std::uint32_t silent_from_;  ///< commands that one has not answered
  counter under_way_{0};
  counter flushes_{0};  ///< of these, commands of flushes
  std::array<counter, max_ssds> by_ssd_{};
  counter lost_{0};  ///< slots of the channel
  std::atomic<std::uint64_t> owing_{0};
  std::atomic<std::uint64_t> silent_{0};
  std::atomic<bool> unsettled_{false};
  std::mutex losing_;  ///< of what follows
  std::array<std::uint32_t, max_ssds> lost_by_ssd_{};
};

}  // namespace gnstor::serve

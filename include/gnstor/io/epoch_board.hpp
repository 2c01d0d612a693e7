#pragma once

#include <gnstor/channel/channel_state.hpp>
#include <gnstor/core/deadline.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/afa/stand_ins.hpp>

namespace gnstor::inline v0 {

/// What an array's epoch says of its SSDs, by bit.
struct array_epoch {
  std::uint32_t number = 0;
  std::uint64_t absent = 0;       ///< take part in nothing
  std::uint64_t filling = 0;      ///< take writes, and are not read yet
  wire::afa::stand_ins others{};  ///< serve at places that are not their own
  /// That the board's volume is spread over; 0: as it was, or the board is of no volume.
  std::uint32_t ssd_count = 0;
};

/// Where a session writes down its array's epoch while kernels run, and where a volume lies in it:
/// in memory that they and this CPU reach. Zero-filled at first.
///
/// The host alone writes what the epoch is; lanes that need another one than they know say so, and
/// the host then asks the array.
class alignas(64) epoch_board {
 public:
  /// @par Callers the host, one thread at a time
  void write(const array_epoch& now) {
    // Odd while it is written. A reader that sees any of the new words sees that it was odd: each
    // of their stores releases the one before.
    const std::uint32_t before = word32(version_).load(relaxed);
    word32(version_).store(before + 1, relaxed);
    word32(number_).store(now.number, release);
    word32(others_).store(now.others.bits, release);
    word32(ssd_count_).store(now.ssd_count, release);
    word64(absent_).store(now.absent, release);
    word64(filling_).store(now.filling, release);
    word32(version_).store(before + 2, release);
  }
  /// Says whether channels which die with their connection are made again for those who wait.
  /// @par Callers the host
  void say_channels_return(bool they_do) { word32(channels_return_).store(they_do, release); }
  /// True if a lane has asked since the last time. @par Callers the host
  bool take_wish() { return word32(wished_).exchange(0, acq_rel) != 0; }

  /// The epoch, all of it from one `write`. False while there is none, or it is being written.
  /// @par Callers any lane
  GNSTOR_HD bool read(array_epoch& now) {
    const std::uint32_t before = word32(version_).load(acquire);
    if (before == 0 || before % 2 != 0) return false;
    now.number = word32(number_).load(acquire);
    now.others.bits = word32(others_).load(acquire);
    now.ssd_count = word32(ssd_count_).load(acquire);
    now.absent = word64(absent_).load(acquire);
    now.filling = word64(filling_).load(acquire);
    return word32(version_).load(relaxed) == before;
  }
  /// Has the host ask the array for its epoch. @par Callers any lane
  GNSTOR_HD void wish() {
    if (word32(wished_).load(relaxed) == 0) word32(wished_).store(1, release);
  }
  /// Waits for an epoch after `known`. False if none comes until `d`.
  /// @par Callers any lane, converged or not
  GNSTOR_HD bool await_after(std::uint32_t known, deadline d, array_epoch& now) {
    for (until more{d}; more;) {
      if (read(now) && now.number > known) return true;
      wish();
    }
    return false;
  }
  /// Waits until a channel takes requests that has died with its connection: it was reset, and what
  /// was sent by that connection is not under way any more. False if it does not until `d`, or will
  /// not; nor one that was made anew, without a reset: others use that.
  /// @par Callers any lane, converged or not, after a request of its has failed there
  template <class Channel>
  GNSTOR_HD bool await_channel(const Channel& channel, deadline d) {
    constexpr std::uint32_t unknown = ~0u;
    std::uint32_t resets = unknown;  // before it died
    for (until more{d}; more && word32(channels_return_).load(acquire) != 0;) {
      const std::uint32_t seen = channel.life_word();
      const channel_phase phase = phase_in(seen);
      const bool ready = phase == channel_phase::ready;
      // The first look may come before anybody has noted that it died, or when it is back already:
      // then the next request fails, too, or does not.
      if (ready && resets_in(seen) != 0 && (resets == unknown || resets_in(seen) > resets))
        return true;
      if (resets == unknown && phase == channel_phase::error) resets = resets_in(seen);
      if (resets == unknown && phase == channel_phase::connecting && resets_in(seen) != 0)
        resets = resets_in(seen) - 1;  // its next life has begun
      wish();
    }
    return false;
  }

 private:
  GNSTOR_HD static system_word<std::uint32_t> word32(std::uint32_t& w) {
    return system_word<std::uint32_t>(w);
  }
  GNSTOR_HD static system_word<std::uint64_t> word64(std::uint64_t& w) {
    return system_word<std::uint64_t>(w);
  }

  std::uint32_t version_ = 0;
  std::uint32_t wished_ = 0;
  std::uint32_t number_ = 0;
  std::uint32_t others_ = 0;
  std::uint64_t absent_ = 0;
  std::uint64_t filling_ = 0;
  std::uint32_t ssd_count_ = 0;
  std::uint32_t channels_return_ = 0;
};

static_assert(sizeof(epoch_board) == 64);

}  // namespace gnstor::inline v0

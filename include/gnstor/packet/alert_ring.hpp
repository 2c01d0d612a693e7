#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/packet/intrusion_alert.hpp>
#include <gnstor/simt/atomic_ref.hpp>

namespace gnstor::inline v0 {

/// Alerts on their way from kernels to the one CPU thread that reads them meanwhile. A view, passed
/// by value, of memory that both reach.
///
/// It is bounded: an alert for which there is no room is counted as lost, and no packet waits.
class alert_ring {
 public:
  struct slot {
    std::uint64_t turn;  ///< 1 and the position of the alert that is in it; 0: none yet
    intrusion_alert what;
  };
  struct words {
    std::uint64_t claimed;  ///< positions given to writers
    std::uint64_t lost;
    std::uint64_t unused[14];
    std::uint64_t taken;  ///< positions read; in another cache line
  };

  alert_ring() = default;
  /// @param capacity of `slots`, a power of two; slots and control zeroed
  GNSTOR_HD alert_ring(slot* slots, words* control, std::uint32_t capacity)
      : slots_(slots), control_(control), capacity_(capacity) {}

  /// False, and counted, if there is no room.
  /// @par Callers each lane for itself, any number of them
  /// @par Order releases the alert at system scope
  /// @par Bound 65,536 attempts; each in vain is another lane's success
  GNSTOR_HD bool push(const intrusion_alert& a) const {
    word claimed(control_->claimed);
    std::uint64_t position = claimed.load(relaxed);
    for (bounded attempts{std::uint32_t{1} << 16}; attempts;) {
      // Paired with the release of `pop`: its reader has done with the slot. A position that is
      // older than what was read is found to be so by the exchange.
      const std::uint64_t taken = word(control_->taken).load(acquire);
      if (static_cast<std::int64_t>(position - taken) >= std::int64_t{capacity_}) break;
      if (!claimed.compare_exchange(position, position + 1, relaxed)) continue;
      slot& s = slots_[position % capacity_];
      s.what = a;
      word(s.turn).store(position + 1, release);
      return true;
    }
    word(control_->lost).fetch_add(1, relaxed);
    return false;
  }

  /// The oldest alert, if there is one.
  /// @par Callers one thread at a time
  /// @par Order acquires what `push` released
  GNSTOR_HD bool pop(intrusion_alert& a) const {
    word taken(control_->taken);
    const std::uint64_t position = taken.load(relaxed);
    slot& s = slots_[position % capacity_];
    if (word(s.turn).load(acquire) != position + 1) return false;
    a = s.what;
    taken.store(position + 1, release);
    return true;
  }

  /// Alerts for which there was no room.
  GNSTOR_HD std::uint64_t lost() const { return word(control_->lost).load(relaxed); }

 private:
  using word = system_word<std::uint64_t>;

  slot* slots_ = nullptr;
  words* control_ = nullptr;
  std::uint32_t capacity_ = 0;
};

static_assert(std::is_trivially_copyable_v<alert_ring> && sizeof(alert_ring) == 24);
static_assert(sizeof(alert_ring::slot) == 40 && offsetof(alert_ring::words, taken) == 128);

}  // namespace gnstor::inline v0

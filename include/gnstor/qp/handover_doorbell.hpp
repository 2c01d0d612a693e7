#pragma once
/// Ringing a doorbell that only one lane at a time may write.

#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/atomic_ref.hpp>

namespace gnstor::inline v0 {

/// Rings a doorbell that only one lane at a time may write, without making any lane wait.
///
/// A doorbell record is a 16-bit index that admits no "store if larger": two writers could move it
/// back. So the ringer takes a try-lock. Who finds it taken leaves; the holder looks again after
/// unlocking, by a read-modify-write, and so rings for those who left. Lock and what is looked at
/// are shared by the lanes of one device.
/// @param lock the try-lock, zero when free
/// @param look `look()` acquires what is to be announced; it only grows
/// @param write `write(value)` writes the record and the register
/// @param more `more(value)` tells whether there is more to be announced now
/// @par Callers one lane
/// @par Order everything published before a call is announced by this call or by the holder's
/// @par Bound 1024 rounds, each of which announced something new; `channel::wait` rings again after
/// that
template <class Look, class Write, class More>
GNSTOR_HD inline void handover_ring(std::uint32_t& lock, const Look& look, const Write& write,
                                    const More& more) {
  const device_word<std::uint32_t> held(lock);
  for (bounded rounds{1024}; rounds;) {
    if (held.exchange(1, acq_rel) != 0) return;
    const auto value = look();
    write(value);
    held.exchange(
        0, acq_rel);  // a release store would lose the ring of a lane that found the lock taken
    if (!more(value)) return;
  }
}

}  // namespace gnstor::inline v0

#pragma once
/// Time, pausing, and polling loops bounded by a deadline.

#include <gnstor/core/deadline.hpp>
#include <gnstor/core/duration.hpp>
#include <gnstor/simt/host_hook.hpp>

#include <sched.h>
#include <time.h>

namespace gnstor::detail {

inline std::uint64_t host_now_ns() {
  if (simt::current_hook) return simt::current_hook->now_ns();
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
}

inline void host_pause() {
  if (simt::current_hook) {
    simt::current_hook->pause();
  } else {
    sched_yield();
  }
}

}  // namespace gnstor::detail

namespace gnstor::simt {

/// Nanoseconds of this machine's clock: the GPU's global timer, the host's steady clock, or virtual
/// time in the seeded modes of the host runtime.
GNSTOR_HD inline std::uint64_t now_ns() {
#if defined(__CUDA_ARCH__)
  std::uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
#else
  return detail::host_now_ns();
#endif
}

/// Gives way for a moment inside a polling loop.
/// @param round how many rounds the caller has waited in vain: the moment doubles every 64 rounds,
/// from 20 ns to 20 us, and so stays a hundredth of the time waited
///
/// Lanes of a warp that wait must let the others run: a lane may be between reserving and
/// publishing while its siblings poll. Measured on an H200 under compute-sanitizer, siblings that
/// slept 20 ns a round kept such a lane from running for seconds; with 1 us it ran.
GNSTOR_HD inline void pause([[maybe_unused]] std::uint32_t round = 0) {
#if defined(__CUDA_ARCH__)
  const std::uint32_t doublings = round / 64;
  __nanosleep(20u << (doublings < 10 ? doublings : 10));
#else
  detail::host_pause();
#endif
}

/// The deadline that is `timeout` from now: `within(5_ms)`.
GNSTOR_HD inline deadline within(duration timeout) {
  return deadline::after(now_ns(), timeout.ns());
}
/// The same of nanoseconds that somebody has counted.
GNSTOR_HD inline deadline within(std::uint64_t timeout_ns) {
  return deadline::after(now_ns(), timeout_ns);
}

}  // namespace gnstor::simt

namespace gnstor::inline v0 {

/// A polling loop bounded by a deadline: `for (until wait{d}; wait;)`. Pauses between rounds, the
/// longer the longer it waits; the first round always runs.
class until {
 public:
  GNSTOR_HD explicit until(deadline d) : deadline_(d) {}

  /// True while the deadline has not passed.
  GNSTOR_HD explicit operator bool() {
    if (first_) {
      first_ = false;
      return true;
    }
    simt::pause(rounds_++);
    return !deadline_.expired(simt::now_ns());
  }
  /// The last round was not in vain: pauses are short again.
  GNSTOR_HD void progressed() { rounds_ = 0; }

 private:
  deadline deadline_;
  std::uint32_t rounds_ = 0;
  bool first_ = true;
};

}  // namespace gnstor::inline v0

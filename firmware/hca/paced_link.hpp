#pragma once

#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/clock.hpp>

namespace gnstor::fw {

/// The link of an emulated NIC that moves so many bytes a second and no more: a model, so that
/// several NICs can be compared with one where memory is faster than any of them.
///
/// It is one word, the time at which the link is free again. Data of both directions shares it.
/// Whoever moves data takes its time first, and does something else where the link is busy.
class alignas(128) paced_link {
 public:
  /// Parts of a nanosecond that are counted.
  static constexpr std::uint64_t parts = 64;
  /// Idle time that is made up for, in parts: of threads that were kept from running, say.
  static constexpr std::uint64_t most_credit = 250'000 * parts;

  /// What `bytes` cost at `bytes_per_second`, in parts.
  GNSTOR_HD static constexpr std::uint64_t cost(std::uint64_t bytes,
                                                std::uint64_t bytes_per_second) {
    return bytes_per_second == 0 ? 0 : bytes * 1'000'000'000 * parts / bytes_per_second;
  }

  /// Takes the link for the time that is worth `cost`. False while it is busy.
  /// @param largest what the largest transfer of the link costs
  /// @par Callers any lane
  /// @par Order none
  /// @par Bound one look
  GNSTOR_HD bool try_take(std::uint64_t cost, std::uint64_t largest) {
    const device_word<std::uint64_t> word(free_at_);
    std::uint64_t free_at = word.load(acquire);
    // After the load: no clock that runs on shows a time before who stored the word.
    const std::uint64_t now = simt::now_ns() * parts;
    const auto ahead = static_cast<std::int64_t>(free_at - now);
    // Where it is further ahead than one transfer takes it, the clock is another: virtual time
    // begins anew with each run.
    if (ahead > 0 && static_cast<std::uint64_t>(ahead) <= largest) return false;
    const bool idle = ahead > 0 || now - free_at > most_credit;
    return word.compare_exchange(free_at, (idle ? now - most_credit : free_at) + cost, relaxed);
  }

 private:
  std::uint64_t free_at_ = 0;
};

static_assert(paced_link::cost(4096, 4'096'000'000) == 1000 * paced_link::parts);
static_assert(std::is_trivially_copyable_v<paced_link> && sizeof(paced_link) == 128);

}  // namespace gnstor::fw

#pragma once

#include <deengine/known_grant.hpp>
#include <gnstor/simt/group.hpp>

namespace gnstor::fw {

/// The grants that the engine of one queue looked up last, one an SSD: in shared memory, so that a
/// command costs one look at a version instead of three dependent ones at the permission table.
///
/// Lanes read it in one phase and change it in another, with a meeting between.
class grant_cache {
 public:
  static constexpr std::uint32_t slots = 16;  ///< SSDs share them

  struct storage {
    known_grant grants[slots];
    std::uint32_t ssds[slots];
  };

  /// No cache: nothing is known.
  GNSTOR_HD grant_cache() : at_(nullptr) {}
  /// @par Callers every lane of `g`, converged; the storage is this warp's alone
  GNSTOR_HD grant_cache(const simt::group& g, storage& at) : at_(&at) {
    for (std::uint32_t k = g.thread_rank(); k < slots; k += g.size()) at.grants[k].slot = nullptr;
    g.sync();
  }

  /// What is known about `ssd`.
  GNSTOR_HD known_grant of(std::uint32_t ssd) const {
    if (at_ == nullptr || at_->ssds[ssd % slots] != ssd) return known_grant{};
    return at_->grants[ssd % slots];
  }

  /// Keeps what a lane has found, of one lane per call.
  /// @param learns this lane found something that was not known
  /// @par Callers every lane of `g`, converged
  GNSTOR_HD void learn(const simt::group& g, bool learns, std::uint32_t ssd,
                       const known_grant& found) const {
    if (at_ == nullptr) return;
    const std::uint32_t learnt = g.ballot(learns);
    if (learnt == 0) return;
    g.sync();  // no lane asks any more
    if (g.thread_rank() == static_cast<std::uint32_t>(cuda::std::countr_zero(learnt))) {
      at_->grants[ssd % slots] = found;
      at_->ssds[ssd % slots] = ssd;
    }
    g.sync();
  }

 private:
  storage* at_;
};

}  // namespace gnstor::fw

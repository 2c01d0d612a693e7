#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/group.hpp>

#include <chrono>
#include <thread>

namespace gnstor::fw {

/// Goes through the rounds of the engines that one warp (or CPU thread) owns, until the node is
/// asked to stop.
/// @tparam Node has the words `stop` and `host_stop`
template <class Node>
struct service_rounds {
  const Node* array;
  std::uint32_t first;  ///< the first engine owned

  /// @param one `one(round, quiet)` is true if anything was done; `quiet` rounds had nothing to do
  /// @param keen somebody waits for this very warp: it does not rest
  /// @par Callers every lane of `g`, converged
  template <class Round>
  GNSTOR_HD_INLINE void repeat(const simt::group& g, const Round& one, bool keen = false) const {
    std::uint32_t quiet = 0;
    std::uint32_t round = 0;
    for (bounded rounds{~std::uint64_t{0}}; rounds;) {
      const bool busy = one(round, quiet);
      quiet = busy ? 0 : quiet + 1;
      if (++round % 64 == 0 || (!keen && quiet % 8 == 7)) {
        if (stopped(g)) return;
      }
      if (!busy) rest(quiet, keen);
    }
  }

 private:
  /// Waits for a moment. A CPU thread that has had nothing to do for some milliseconds sleeps a
  /// little, because others need its core; lanes and warps never do.
  GNSTOR_HD static void rest([[maybe_unused]] std::uint32_t quiet, [[maybe_unused]] bool keen) {
#if defined(__CUDA_ARCH__)
    if (keen) return;
#else
    constexpr std::uint32_t patience = 4096;  // rounds
    if (quiet > patience && simt::current_hook == nullptr) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      return;
    }
#endif
    simt::pause();
  }

  /// The owner of engine 0 asks the host's word, which may lie across a link, and tells the others.
  GNSTOR_HD bool stopped(const simt::group& g) const {
    std::uint32_t word = 0;
    if (g.leads()) {
      const device_word<std::uint32_t> here(*array->stop);
      word = here.load(acquire);
      if (word == 0 && first == 0 && array->host_stop != nullptr) {
        word = system_word<std::uint32_t>(*array->host_stop).load(acquire);
        if (word != 0) here.store(word, release);
      }
    }
    return g.broadcast(word) != 0;
  }
};

}  // namespace gnstor::fw

#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/group.hpp>

#include <chrono>
#include <thread>

namespace gnstor::fw {

/// Gives way, and sleeps a little after some milliseconds.
struct short_rest {
  /// @param quiet rounds in which the thread has found nothing
  void operator()(std::uint32_t quiet) const {
    constexpr std::uint32_t patience = 4096;
    if (quiet <= patience) return simt::pause();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  /// What engines are to take for the number of quiet rounds.
  static std::uint32_t quiet_for_engines(std::uint32_t quiet) { return quiet; }
};

/// Goes through the rounds of the engines that one warp (or CPU thread) owns, until the node is
/// asked to stop.
/// @tparam Node has the words `stop` and `host_stop`
/// @tparam Rest what a CPU thread does that has had nothing to do, as `short_rest`
template <class Node, class Rest = short_rest>
struct service_rounds {
  const Node* array;
  std::uint32_t first;  ///< the first engine owned
  Rest rest_of_cpu{};

  /// @param one `one(round, quiet)` is true if anything was done; `quiet` rounds had nothing to do
  /// @param keen somebody waits for this very warp: it does not rest
  /// @par Callers every lane of `g`, converged
  template <class Round>
  GNSTOR_HD_INLINE void repeat(const simt::group& g, const Round& one, bool keen = false) const {
    std::uint32_t quiet = 0;
    std::uint32_t round = 0;
    for (bounded rounds{~std::uint64_t{0}}; rounds;) {
      const bool busy = one(round, said(quiet));
      quiet = busy ? 0 : quiet + 1;
      if (++round % 64 == 0 || (!keen && quiet % 8 == 7)) {
        if (stopped(g)) return;
      }
      if (!busy) rest(quiet, keen);
    }
  }

 private:
  GNSTOR_HD std::uint32_t said(std::uint32_t quiet) const {
#if defined(__CUDA_ARCH__)
    return quiet;
#else
    return rest_of_cpu.quiet_for_engines(quiet);
#endif
  }
  /// Waits for a moment. A CPU thread that has had nothing to do rests, because others need its
  /// core; lanes and warps never do.
  GNSTOR_HD void rest([[maybe_unused]] std::uint32_t quiet, [[maybe_unused]] bool keen) const {
#if defined(__CUDA_ARCH__)
    if (keen) return;
#else
    if (simt::current_hook == nullptr) return rest_of_cpu(quiet);
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

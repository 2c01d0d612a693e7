#pragma once

#include "random.hpp"
#include "word_map.hpp"
#include <gnstor/simt/host_hook.hpp>

#include <vector>

namespace gnstor::simt::host {

/// The memory of the weak mode: an atomic load may return any store of its word that neither
/// coherence nor happens-before forbids.
///
/// Every lane has a vector clock, one epoch per lane. Every word keeps its last few stores in
/// modification order, each with the clock an acquire of it joins and, per lane, the epoch in which
/// that lane first saw it; whoever knows that epoch must not read anything older. Stores are
/// appended to the modification order and loads never run ahead, so that load buffering and
/// reordered stores to one word are not explored. Scopes make no difference here.
class weak_memory {
 public:
  /// `stale_of_8`: of eight loads, how many may return an older store.
  weak_memory(std::uint32_t lanes, random& from, std::uint32_t stale_of_8);

  std::uint64_t load(std::uint32_t lane, const void* word, std::uint64_t now, hook_order order);
  void store(std::uint32_t lane, const void* word, std::uint64_t before, std::uint64_t after,
             bool rmw, hook_order order);
  void fence(std::uint32_t lane, hook_order order);

  /// A barrier: `begin_barrier`, `arrive` of each lane, then `leave` of each lane.
  void begin_barrier();
  void arrive(std::uint32_t lane);
  void leave(std::uint32_t lane);

 private:
  using epoch = std::uint32_t;
  using clock = std::vector<epoch>;  ///< one epoch per lane, or empty: knows nothing

  struct version {
    std::uint64_t value = 0;
    clock seen;  ///< per lane: epoch in which it first saw this or a later version; `never` if it
                 ///< has not
    clock released;  ///< what an acquire of this version learns
  };
  struct location {
    std::vector<version>
        versions;  ///< in modification order; the first stands for everything before it
  };
  struct lane_clock {
    clock now;         ///< what this lane knows; its own entry is its current epoch
    clock released;    ///< at its last release fence; a later relaxed store releases this
    clock to_acquire;  ///< what its relaxed loads saw; an acquire fence learns this
  };

  location& at(const void* word, std::uint64_t now);
  void restart(location& x, std::uint64_t value, const clock& released);
  std::size_t oldest_legal(const location& x, std::uint32_t lane) const;
  void learn(lane_clock& l, const clock& released, bool acquire);
  void publish(clock& to, const clock& from) const;
  version& append(location& x);
  clock everyone() const;

  static constexpr epoch never = ~epoch{0};

  random& random_;
  std::uint32_t stale_of_8_;
  std::size_t depth_;  ///< versions kept per word
  std::vector<lane_clock> lanes_;
  word_map<location> words_;
  clock base_;  ///< what a word not yet in `words_` may have released
  clock barrier_;
};

}  // namespace gnstor::simt::host

#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/qp/proxy_queue_pair.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::test {

/// One warp that has a port move data for it: a transfer a lane, the odd ones towards the peer.
struct copy_lanes {
  struct shared {};

  static constexpr std::uint32_t words = 8;  ///< of one transfer

  proxy_queue_pair<> queue;
  std::uint64_t* here = nullptr;   ///< [32 * words]
  std::uint64_t* there = nullptr;  ///< [32 * words]
  std::uint32_t* faults = nullptr;
  std::uint32_t rounds = 1;

  GNSTOR_HD static std::uint64_t value(std::uint32_t round, std::uint32_t k) {
    return (std::uint64_t{round} + 1) << 32 | k;
  }

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    for (std::uint32_t round = 0; round < rounds; ++round) one(lane.global_thread(), round);
  }

 private:
  GNSTOR_HD void one(std::uint32_t me, std::uint32_t round) const {
    const simt::group warp = simt::group::warp();
    std::uint64_t* from = me % 2 != 0 ? here : there;
    std::uint64_t* to = me % 2 != 0 ? there : here;
    for (std::uint32_t k = me * words; k < (me + 1) * words; ++k) {
      system_word<std::uint64_t>(from[k]).store(value(round, k), relaxed);
    }
    result<std::uint64_t> first = status::make(status_code::would_block, reporter::queue_pair);
    if (warp.leads()) first = queue.try_reserve(warp.size());
    const std::uint64_t index = warp.broadcast(first.value) + warp.thread_rank();
    warp.sync();
    one_sided t;
    t.local_address = reinterpret_cast<std::uint64_t>(here + me * words);
    t.remote_address = reinterpret_cast<std::uint64_t>(there + me * words);
    t.bytes = words * sizeof(std::uint64_t);
    t.write = me % 2 != 0;
    queue.write_one_sided(index, t);
    await(warp);
    for (std::uint32_t k = me * words; k < (me + 1) * words; ++k) {
      if (system_word<std::uint64_t>(to[k]).load(relaxed) != value(round, k)) fault();
    }
  }

  /// Takes as many completions as the warp has lanes.
  GNSTOR_HD void await(const simt::group& warp) const {
    std::uint32_t done = 0;
    for (bounded tries{100'000'000}; tries && done < warp.size();) {
      const completion c = queue.poll(warp);
      const bool mine = c.kind == completion_kind::sent;
      if (mine) queue.retire(c.index);
      if (c.kind != completion_kind::none && !mine) fault();
      done += static_cast<std::uint32_t>(cuda::std::popcount(warp.ballot(mine)));
      if (!mine) simt::pause();
    }
    if (done != warp.size()) fault();
    warp.sync();  // what one lane acquired reaches the lane whose data it tells of
  }

  GNSTOR_HD void fault() const { device_word<std::uint32_t>(*faults).fetch_add(1, relaxed); }
};

}  // namespace gnstor::test

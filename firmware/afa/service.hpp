#pragma once

#include <afa/copy_engine.hpp>
#include <afa/queue_engine.hpp>
#include <afa/shard_engine.hpp>
#include <gnstor/simt/lane.hpp>

#include <chrono>
#include <thread>

namespace gnstor::fw {

/// The firmware's main loop: every engine of a node has one owner among the warps (or CPU threads)
/// that run this.
///
/// The same code is the persistent kernel of the GPU runner, the threads of the CPU runner and the
/// lanes of the simulated runner.
struct service {
  static constexpr std::uint32_t most_warps = 8;  ///< of a block
  struct shared {
    grant_cache::storage grants[most_warps];
  };
  node array;

  /// @par Callers every lane of the grid, whole warps
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const std::uint32_t warps = (lane.block_threads() + 31) / 32;
    GNSTOR_ASSERT(warps <= most_warps);
    const std::uint32_t warp = lane.thread() / 32;
    run(lane.warp(), lane.block() * warps + warp, lane.grid_blocks() * warps,
        grant_cache(lane.warp(), lane.shared().grants[warp]));
  }

  /// Owns the engines first, first + step, ... until the node is told to stop.
  /// @param grants of the queue whose engine is owned alone
  GNSTOR_HD void run(const simt::group& g, std::uint32_t first, std::uint32_t step,
                     grant_cache grants = {}) const {
    const std::uint32_t roles = array.shape.roles();
    if (first < roles && first + step >= roles && first >= first_queue()) {
      queue_engine own(array, first - first_queue(), grants);
      repeat(g, first, [&](std::uint32_t) { return own.tick(g); });
      own.save(g);
      return;
    }
    if (first < roles && first + step >= roles && first >= array.shape.copy_workers) {
      const shard_engine own = shard(first - array.shape.copy_workers);
      repeat(g, first, [&](std::uint32_t quiet) { return tended(own, g, quiet); });
      return;
    }
    repeat(g, first, [&](std::uint32_t quiet) {
      bool busy = false;
      for (std::uint32_t role = first; role < roles; role += step)
        busy = serve(g, role, quiet) || busy;
      return busy;
    });
  }

 private:
  GNSTOR_HD std::uint32_t first_queue() const {
    return array.shape.copy_workers + array.shape.inboxes();
  }

  /// Goes through rounds until the node is told to stop.
  /// @param one `one(quiet)` is true if anything was done; `quiet` rounds had nothing to do
  template <class Round>
  GNSTOR_HD void repeat(const simt::group& g, std::uint32_t first, const Round& one) const {
    std::uint32_t quiet = 0;
    std::uint32_t round = 0;
    for (bounded rounds{~std::uint64_t{0}}; rounds;) {
      const bool busy = one(quiet);
      quiet = busy ? 0 : quiet + 1;
      if (++round % 64 == 0 || quiet % 8 == 7) {
        if (stopped(g, first)) return;
      }
      if (!busy) rest(quiet);
    }
  }

  /// One round of engine `role`: copy workers first, then shards, then queues.
  GNSTOR_HD bool serve(const simt::group& g, std::uint32_t role, std::uint32_t quiet) const {
    const node_shape& shape = array.shape;
    if (role < shape.copy_workers) return copy_engine(array, role).tick(g);
    if (role >= first_queue()) return queue_engine::tick(array, role - first_queue(), g);
    return tended(shard(role - shape.copy_workers), g, quiet);
  }
  GNSTOR_HD shard_engine shard(std::uint32_t number) const {
    return {array, number / array.shape.shards, number % array.shape.shards};
  }
  GNSTOR_HD static bool tended(const shard_engine& shard, const simt::group& g,
                               std::uint32_t quiet) {
    const bool busy = shard.tick(g);
    if (!busy) shard.idle(g, quiet);
    return busy;
  }

  /// Waits for a moment. A CPU thread that has had nothing to do for some milliseconds sleeps a
  /// little, because others need its core; lanes and warps never do.
  GNSTOR_HD static void rest([[maybe_unused]] std::uint32_t quiet) {
#if !defined(__CUDA_ARCH__)
    constexpr std::uint32_t patience = 4096;  // rounds
    if (quiet > patience && simt::current_hook == nullptr) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      return;
    }
#endif
    simt::pause();
  }

  /// The owner of the first engine asks the host's word, which may lie across a link, and tells the
  /// others.
  GNSTOR_HD bool stopped(const simt::group& g, std::uint32_t first) const {
    std::uint32_t word = 0;
    if (g.leads()) {
      const device_word<std::uint32_t> here(*array.stop);
      word = here.load(acquire);
      if (word == 0 && first == 0 && array.host_stop != nullptr) {
        word = system_word<std::uint32_t>(*array.host_stop).load(acquire);
        if (word != 0) here.store(word, release);
      }
    }
    return g.broadcast(word) != 0;
  }
};

static_assert(std::is_trivially_copyable_v<service>);

}  // namespace gnstor::fw

#pragma once

#include <afa/copy_engine.hpp>
#include <afa/near_node.hpp>
#include <afa/pace_engine.hpp>
#include <afa/queue_engine.hpp>
#include <afa/send_engine.hpp>
#include <afa/service_rounds.hpp>
#include <afa/shard_engine.hpp>
#include <gnstor/simt/lane.hpp>
#include <gnstor/simt/warp_number.hpp>
#include <hca/completion_bell.hpp>

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
    near_node::storage near;
  };
  node array;
  std::uint32_t first_role = 0;  ///< those before it have owners elsewhere

  /// @par Callers every lane of the grid, whole warps
  template <class Lane>
  GNSTOR_HD_INLINE void operator()(Lane& lane) const {
    const simt::group g = simt::group::whole_warp();
    const std::uint32_t warps = simt::warps_of(lane.block_threads());
    GNSTOR_ASSERT(warps <= most_warps);
    const std::uint32_t warp = lane.thread() / 32;
    const service here{near_node::of(lane, array, lane.shared().near), first_role};
    // Neighbours are in different blocks: engines of one kind are not all on the same
    // multiprocessor.
    here.run(g, warp * lane.grid_blocks() + lane.block(), lane.grid_blocks() * warps,
             grant_cache(g, lane.shared().grants[warp]));
  }

  /// Owns every `step`-th engine from the `turn`-th on, until the node is asked to stop. On a GPU
  /// that is one engine, behind the copy workers, or none.
  /// @param grants of the queue whose engine is owned alone
  /// @param rest what a CPU thread does when it has had nothing to do for long
  template <class Rest = short_rest>
  GNSTOR_HD_INLINE void run(const simt::group& g, std::uint32_t turn, std::uint32_t step,
                            grant_cache grants = {}, Rest rest = {}) const {
    const std::uint32_t roles = array.shape.roles();
    const std::uint32_t first = first_role + turn;
    const service_rounds<node, Rest> rounds{&array, first, rest};
    const bool alone = first < roles && first + step >= roles && first < array.shape.first_pacer();
    if (alone && first >= array.shape.first_queue()) {
      const std::uint32_t queue = first - array.shape.first_queue();
      queue_engine own(array, queue, grants);
#if !defined(__CUDA_ARCH__)
      try {
#endif
        rounds.repeat(
            g, [&](std::uint32_t, std::uint32_t) { return tick(own, queue, g); }, true);
        own.save(g);
#if !defined(__CUDA_ARCH__)
      } catch (...) {
        own.leave_behind();
        throw;
      }
#endif
    } else if (alone && first >= array.shape.copy_workers) {
      shard_engine own = shard(first - array.shape.copy_workers);
      rounds.repeat(g, [&](std::uint32_t round, std::uint32_t quiet) {
        return tended(own, g, round, quiet);
      });
    } else {
#if defined(__CUDA_ARCH__)
      // Each engine has a warp for itself there. With the code for warps that serve several in
      // turn, which none would run, reads of flash in an H200's memory were a fifth slower.
      GNSTOR_VERIFY(first >= roles);
#else
      rounds.repeat(g, [&](std::uint32_t round, std::uint32_t quiet) {
        bool busy = false;
        for (std::uint32_t role = first; role < roles; role += step)
          busy = serve(g, role, round, quiet) || busy;
        return busy;
      });
#endif
    }
  }

 private:
  /// One round of engine `role`.
  GNSTOR_HD bool serve(const simt::group& g, std::uint32_t role, std::uint32_t round,
                       std::uint32_t quiet) const {
    const node_shape& shape = array.shape;
    if (role < shape.copy_workers) return copy_engine::tick(array, role, g);
#if !defined(__CUDA_ARCH__)
    if (role >= shape.first_sender())
      return send_engine(array, role - shape.first_sender()).tick(g);
    if (role >= shape.first_pacer()) return pace_engine(array, role - shape.first_pacer()).tick(g);
#endif
    if (role >= shape.first_queue()) return tick(role - shape.first_queue(), g);
    shard_engine engine = shard(role - shape.copy_workers);
    return tended(engine, g, 32 * round, quiet);  // it forgets that it was collecting: more often
  }
  /// True of a place for a queue that nobody has: of those a target has many.
  GNSTOR_HD static bool is_absent(queue_context& context, const simt::group& g) {
    std::uint32_t life = 0;
    if (g.leads()) life = device_word<std::uint32_t>(context.active).load(relaxed);
    return g.broadcast(life) == static_cast<std::uint32_t>(queue_life::absent);
  }
  /// One round of a queue's engine; then who sleeps until it has completions is woken.
  GNSTOR_HD bool tick(std::uint32_t queue, const simt::group& g) const {
#if defined(__CUDA_ARCH__)
    return queue_engine::tick(array, queue, g);
#else
    queue_context& context = array.queues[queue];
    if (is_absent(context, g)) {
      if (g.leads()) array.quiescence().quiet(queue);
      return false;
    }
    const std::uint64_t before = context.completion_tail;
    const bool busy = queue_engine::tick(array, queue, g);
    if (context.completion_tail > before) ring(context);  // it is 0 once it was drained
    return busy;
#endif
  }
  GNSTOR_HD_INLINE bool tick(queue_engine& own, [[maybe_unused]] std::uint32_t queue,
                             const simt::group& g) const {
#if defined(__CUDA_ARCH__)
    return own.tick(g);
#else
    const std::uint64_t before = own.completions();
    const bool busy = own.tick(g);
    if (own.completions() > before) ring(array.queues[queue]);
    return busy;
#endif
  }
#if !defined(__CUDA_ARCH__)
  static void ring(const queue_context& context) {
    if (context.at.bell != nullptr) context.at.bell->after_completions();
  }
#endif
  GNSTOR_HD shard_engine shard(std::uint32_t number) const {
    return {array, number / array.shape.shards, number % array.shape.shards};
  }
  GNSTOR_HD_INLINE static bool tended(shard_engine& shard, const simt::group& g,
                                      std::uint32_t round, std::uint32_t quiet) {
    const bool busy = shard.tick(g);
    return shard.tend(g, round, quiet) || busy;
  }
};

static_assert(std::is_trivially_copyable_v<service>);

}  // namespace gnstor::fw

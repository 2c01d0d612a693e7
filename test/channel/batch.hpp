#pragma once
/// The warps of a block send requests in batches, on the host runtime and on the GPU.

#include "connect_all.hpp"
#include "qp/letter.hpp"
#include "qp/scripted_peer.hpp"
#include <gnstor/channel/doorbell/manual.hpp>
#include <gnstor/channel/mlx5_channel.hpp>
#include <gnstor/channel/warp_batch.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::test {

/// What the threads count together. Zero at the start.
struct batch_tally {
  std::uint32_t ended = 0;       ///< threads that ran to their end
  std::uint32_t dispatched = 0;  ///< requests that were handled
  std::uint32_t right = 0;       ///< of these, with the right status and their data
  std::uint32_t skipped = 0;     ///< submits that a pending request kept a thread from
  std::uint32_t stuck = 0;
  std::uint32_t left = 0;  ///< slots pending after a drain
};

/// Each thread sends `rounds` requests through its slot. The peer answers them in any order, so
/// that a batch goes on without some of them.
template <std::uint32_t Warps, class Channel = mlx5_channel>
struct batch {
  using channel_type = decltype(std::declval<Channel>().template with<doorbell::manual>());
  using batch_type = warp_batch<Warps, channel_type>;
  struct shared {
    typename batch_type::storage slots;
  };
  static constexpr std::uint32_t most_threads = 32 * Warps;

  const Channel* channels = nullptr;
  std::uint32_t rounds = 4;
  std::uint32_t of_each = 1;  ///< of so many threads one takes part
  std::uint32_t never = ~0u;  ///< the request that gets no answer
  std::uint64_t patience_ns = 2'000'000;
  letter* letters = nullptr;  ///< [threads * rounds]
  batch_tally* tally = nullptr;
  std::uint32_t* stop = nullptr;  ///< set by the last thread, where no executor does

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const std::uint32_t me = lane.global_thread();
    const std::uint32_t threads = lane.grid_threads();
    if (!connect_all(channels, 1, me == 0)) count(tally->stuck);
    const channel_type io = channels[0].template with<doorbell::manual>();
    const auto g = lane.warp().partition(me % of_each);
    if (me % of_each == 0) {
      const batch_type mine(g, io, lane.shared().slots, lane.thread() / 32);
      send_all(g, mine, me);
      if (mine.pending()) count(tally->left);
    }
    if (device_word<std::uint32_t>(tally->ended).fetch_add(1, acq_rel) + 1 == threads &&
        stop != nullptr) {
      system_word<std::uint32_t>(*stop).store(1, release);
    }
  }

 private:
  GNSTOR_HD static void count(std::uint32_t& counter) {
    device_word<std::uint32_t>(counter).fetch_add(1, relaxed);
  }

  GNSTOR_HD ask what(std::uint32_t id) const { return id == never ? ask::never : ask::answer; }

  template <class G>
  GNSTOR_HD void send_all(const G& g, const batch_type& mine, std::uint32_t me) const {
    std::uint32_t sent = 0;
    std::uint32_t current = 0;
    const auto handle = [&](status s) {
      count(tally->dispatched);
      const bool silent = current == never;
      const bool right = silent ? s.code == status_code::timed_out
                                : s.ok() && letters[current].holds_reply(current);
      if (right) count(tally->right);
    };
    for (until more{deadline::never()}; more;) {
      if (!g.any(sent < rounds)) break;
      const std::uint32_t id = me * rounds + sent;
      const status s = mine.submit(g, sent < rounds, [&](const channel_type& io) {
        wire::nvme::submission_entry e{};
        e.opcode = 0xc0;
        e.cdw10 = id;
        e.cdw12 = static_cast<std::uint32_t>(what(id));
        letters[id].ask(id);
        return io.submit(e);
      });
      if (s.ok()) {
        current = id;
        ++sent;
      } else if (sent < rounds && mine.pending()) {
        count(tally->skipped);
      }
      mine.commit(g);
      if (mine.poll(g)) more.progressed();
      (void)mine.dispatch(g, handle);
      // A request that gets no answer keeps its thread from sending: the others drain.
      if (never != ~0u && !g.any(sent < rounds && !mine.pending())) break;
    }
    mine.drain(g, never != ~0u ? simt::within(patience_ns) : deadline::never(), handle);
  }
};

}  // namespace gnstor::test

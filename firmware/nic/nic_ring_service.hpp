#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/lane.hpp>

#include <nic/frame_watch.hpp>
#include <nic/ring_receiver.hpp>
#include <nic/ring_transmitter.hpp>

namespace gnstor::fw {

/// The main loop of an emulated NIC with numbered wires on a GPU: a block per ring, each way, until
/// it is stopped.
/// @tparam Model `nic_82599` or `nic_82574`
template <class Model>
struct nic_ring_service {
  static constexpr std::uint32_t most_threads = block_team::most_threads;
  struct shared {
    block_team::room room;
  };
  nic_node node;

  /// Blocks that it needs: one of them watches for the end of the frames.
  static std::uint32_t blocks(const nic_node& node) {
    return 2 * node.port_count * node.queues + 1;
  }

  /// @par Callers every lane of a grid of `blocks(node)` blocks
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const block_team team(lane.shared().room);
    const std::uint32_t rings = node.port_count * node.queues;
    const std::uint32_t ring = lane.block() / 2;
    const std::uint32_t port = ring / node.queues;
    const std::uint32_t queue = ring % node.queues;
    if (ring == rings) {
      frame_watch watch(node);
      serve(team, [&] {
        if (team.leads()) watch.tick();
        return false;
      });
    } else if (lane.block() % 2 == 0) {
      ring_receiver<Model> in(node, port, queue);
      serve(team, [&] { return in.tick(team); });
    } else {
      ring_transmitter<Model> out(node, port, queue);
      serve(team, [&] { return out.tick(team); });
    }
  }

 private:
  template <class Round>
  GNSTOR_HD void serve(const block_team& team, const Round& one) const {
    std::uint32_t quiet = 0;
    std::uint32_t round = 0;
    for (bounded rounds{~std::uint64_t{0}}; rounds;) {
      quiet = one() ? 0 : quiet + 1;
      if (quiet % 8 == 1 || ++round % 64 == 0) {
        if (team.share(team.leads() && node.must_stop())) return;
      }
      if (quiet != 0) simt::pause(quiet);
    }
  }
};

static_assert(std::is_trivially_copyable_v<nic_ring_service<nic_82599>>);

}  // namespace gnstor::fw

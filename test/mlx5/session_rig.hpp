#pragma once

#include "channel/exchange.hpp"
#include "described.hpp"
#include "fabrics/scripted_target.hpp"
#include "rig.hpp"
#include <fabrics/controller.hpp>
#include <gnstor/simt_host/executor.hpp>
#include <mlx5/kernel_queues.hpp>

namespace gnstor::test {

/// What a session over a fake ConnectX is made of: a controller whose admin queue, and whose queues
/// driven by the proxy, end at a scripted target, and a NIC and a GPU that only keep the record.
class session_rig {
 public:
  static constexpr std::uint32_t depth = 8;

  /// @param granted I/O queues that the target grants
  explicit session_rig(std::uint32_t granted = 4) : target(granted) {
    lanes.home = fake_gpu();
    lanes.connect = [this](const host::channel_outcomes& to, const connect_options& said,
                           std::uint64_t timeout_ns) { connect(to, said, timeout_ns); };
  }

  host::mlx5::kernel_queues make(host::transport_kind transport, std::uint32_t count = 2) {
    return host::mlx5::kernel_queues::make(controller, way, wanted(transport, count));
  }
  host::mlx5::kernel_queues_wanted wanted(host::transport_kind transport, std::uint32_t count) {
    return {transport, count, host::place::host, true, [this] {
              if (!lanes_fault.empty()) throw host::error(lanes_fault);
              return lanes;
            }};
  }
  /// The ids of queues connected by the proxy; 0 is the admin queue's.
  std::vector<std::uint16_t> proxied() {
    const std::lock_guard lock(target.script.mutex);
    return target.script.connects;
  }

  struct granting_target : scripted_target {
    explicit granting_target(std::uint32_t granted) { script.granted_queues = granted; }
  };
  granting_target target;
  host::verbs::protection_domain domain{
      host::verbs::device::towards(rig::peer(), std::chrono::milliseconds(1000))};
  host::mlx5::nic_transport way{target, domain, rig::peer()};
  host::fabrics::controller controller{way, options()};
  host::mlx5::queue_lanes lanes;
  bool unanswered = false;                ///< Connects of the NIC's queues get no answer
  std::string lanes_fault;                ///< why there can be no lanes
  std::vector<connect_options> connects;  ///< what lanes were asked to say
  std::uint32_t sends = 0;                ///< capsules that the NIC saw

 private:
  static host::fabrics::controller_options options() {
    host::fabrics::controller_options o;
    o.subsystem = "nqn.2026-11.test:subsystem";
    o.host_nqn = "nqn.2026-11.test:host";
    o.queues = 4;
    o.depth = depth;
    o.keep_alive = std::chrono::milliseconds(0);
    o.reconnect_delay = std::chrono::milliseconds(20);
    return o;
  }

  /// Runs the lane that connects beside a NIC that knows the queue by its DevX commands alone, and
  /// a target that says yes.
  void connect(const host::channel_outcomes& to, const connect_options& said,
               std::uint64_t timeout_ns) {
    if (unanswered) {
      *to.outcome = status::make(status_code::timed_out, reporter::channel).pack();
      return;
    }
    fake_machine::get().doorbell[0] = 0;
    fw::memory_region regions[2] = {{}, registered()};
    peer_queue served{described(), {}};
    std::uint32_t stop = 0;
    scripted_peer peer;
    peer.queues = &served;
    peer.regions = fw::region_table(regions, 2);
    peer.stop = &stop;
    simt::host::executor machine;
    machine.spawn(1, 1, host::connect_channels{}, to, said, timeout_ns);
    machine.serve_in(simt::domain::nic, 1, 1, stop, peer);
    machine.run();
    connects.push_back(said);
    sends += served.seen.sends;
    CHECK(served.seen.bad_entries == 0);
  }
};

}  // namespace gnstor::test

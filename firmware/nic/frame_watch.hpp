#pragma once

#include <gnstor/simt/clock.hpp>

#include <nic/nic_node.hpp>

namespace gnstor::fw {

/// Sees when the frames of all generators have come out again, and then stops the packet paths that
/// asked for it. What does not come for a while is not awaited.
class frame_watch {
 public:
  GNSTOR_HD explicit frame_watch(const nic_node& node) : node_(&node) {}

  GNSTOR_HD void tick() {
    if (is_over_ || node_->frames == 0) return;
    std::uint64_t given = 0;
    std::uint64_t seen = 0;
    bool any = false;
    for (std::uint32_t p = 0; p < node_->port_count; ++p) {
      nic_port& port = node_->ports[p];
      if (!port.is_listening() || node_->is_loop(p)) continue;
      any = true;
      // Paired with the release of the generator: its other counters are final then.
      if (system_word<std::uint64_t>(port.counters.made).load(acquire) < node_->frames) return;
      given += nic_counters::read(port.counters.given);
      for (std::uint32_t s = 0; s < node_->port_count; ++s)
        seen += system_word<std::uint64_t>(node_->ports[s].sinks.of[p].count).load(acquire);
    }
    if (!any) return;
    const std::uint64_t now = simt::now_ns();
    if (seen != seen_ || !is_waiting_) until_ = deadline::after(now, node_->settle_ns);
    is_waiting_ = true;
    seen_ = seen;
    if (seen < given && !until_.expired(now)) return;
    is_over_ = true;
    node_->stop_paths();
  }

 private:
  const nic_node* node_;
  std::uint64_t seen_ = 0;
  deadline until_ = deadline::never();
  bool is_waiting_ = false;
  bool is_over_ = false;
};

}  // namespace gnstor::fw

#pragma once

#include "pcap_port.hpp"
#include <gnstor/core/deadline.hpp>
#include <gnstor/simt/clock.hpp>

#include <nic/nic_node.hpp>
#include <nic/nic_wire.hpp>

#include <algorithm>
#include <cstring>
#include <deque>

namespace gnstor::host {

/// A port's wire that brings the frames of a capture file, as fast as there are descriptors, and
/// takes what is sent to another one.
class pcap_wire {
 public:
  /// @param most bytes of a frame; longer ones are dropped by the MAC
  pcap_wire(fw::nic_port& port, pcap_port& files, std::uint32_t most)
      : port_(&port), files_(&files), most_(most) {}

  fw::wire_arrival look() {
    fw::wire_arrival a;
    if (!port_->is_listening() || !files_->look()) return a;
    files_->note_busy();
    a.bytes = std::max(files_->bytes(), wire::ethernet::min_frame_bytes);
    a.what = fw::wire_arrival::kind::frame;
    if (a.bytes <= most_) return a;
    fw::nic_counters::add(port_->counters.oversize);
    pass(a, false);
    a.what = fw::wire_arrival::kind::dropped;
    return a;
  }
  /// What was captured where it was sent is not filled up yet.
  void write(const fw::wire_arrival& a, unsigned char* to) const {
    std::memcpy(to, files_->data(), files_->bytes());
    std::memset(to + files_->bytes(), 0, a.bytes - files_->bytes());
  }
  void pass(const fw::wire_arrival&, bool) {
    files_->drop_waiting();
    fw::nic_counters::add(port_->counters.made);
  }
  bool send(const unsigned char* from, std::uint32_t bytes) {
    files_->note_busy();
    if (!files_->capture(from, bytes)) fw::nic_counters::add(port_->counters.refused);
    return true;
  }

 private:
  fw::nic_port* port_;
  pcap_port* files_;
  std::uint32_t most_;
};

static_assert(fw::nic_wire<pcap_wire>);

/// The wires of a NIC whose port k has the k-th files.
struct pcap_wires {
  std::deque<pcap_port>* ports = nullptr;
  const fw::nic_node* node = nullptr;

  pcap_wire operator()(const fw::nic_node& n, std::uint32_t port) const {
    return {n.ports[port], (*ports)[port], n.max_frame_bytes};
  }
  /// Gives way. Where all files are through, and for a while nothing was sent, flows are stopped.
  void rest(std::uint32_t quiet) const {
    simt::pause(quiet);
    if (quiet % 256 != 1) return;
    bool listens = false;
    std::uint64_t last = 0;
    for (std::uint32_t p = 0; p < node->port_count; ++p) {
      pcap_port& files = (*ports)[p];
      listens = listens || node->ports[p].is_listening();
      if (node->ports[p].is_listening() && !files.is_through()) return;
      last = std::max(last, files.busy_ns());
    }
    if (!listens || simt::now_ns() - last < node->settle_ns) return;
    for (pcap_port& files : *ports) (void)files.flush();
    node->stop_paths();
  }
};

}  // namespace gnstor::host

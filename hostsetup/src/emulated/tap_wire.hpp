#pragma once

#include "tap_interface.hpp"
#include <gnstor/simt/clock.hpp>

#include <nic/nic_node.hpp>
#include <nic/nic_wire.hpp>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace gnstor::host {

/// A port's wire whose other end is an interface of Linux. Frames that find no descriptor wait in
/// the kernel's queue, which drops them when it is full, as it does for a slow wire.
class tap_wire {
 public:
  tap_wire(fw::nic_port& port, tap_interface& tap) : port_(&port), tap_(&tap) {}

  fw::wire_arrival look() {
    fw::wire_arrival a;
    a.bytes = tap_->look();
    if (a.bytes == 0) return a;
    a.what = fw::wire_arrival::kind::frame;
    if (a.bytes <= tap_->max_frame_bytes()) return a;
    // The MTU was raised after the rings had been made.
    fw::nic_counters::add(port_->counters.oversize);
    tap_->drop_waiting();
    a.what = fw::wire_arrival::kind::dropped;
    return a;
  }
  void write(const fw::wire_arrival& a, unsigned char* to) const {
    std::memcpy(to, tap_->waiting(), a.bytes);
  }
  void pass(const fw::wire_arrival&, bool) { tap_->drop_waiting(); }

  bool send(const unsigned char* from, std::uint32_t bytes) {
    const tap_interface::sent s = tap_->send(from, bytes);
    if (s == tap_interface::sent::refused) fw::nic_counters::add(port_->counters.refused);
    return s != tap_interface::sent::later;
  }

 private:
  fw::nic_port* port_;
  tap_interface* tap_;
};

static_assert(fw::nic_wire<tap_wire>);

/// The wires of a NIC whose port k is the k-th interface.
struct tap_wires {
  std::vector<tap_interface>* taps = nullptr;

  tap_wire operator()(const fw::nic_node& node, std::uint32_t port) const {
    return {node.ports[port], (*taps)[port]};
  }
  /// Gives way, after a while until a frame comes: no longer than a kernel may wait whose tail
  /// nobody looks at.
  void rest(std::uint32_t quiet) const {
    constexpr std::uint32_t busy_rounds = 64;
    constexpr timespec bound{0, 50'000};
    if (quiet < busy_rounds) return simt::pause(quiet);
    std::vector<pollfd> files;
    for (const tap_interface& t : *taps) files.push_back({t.file(), POLLIN, 0});
    ::ppoll(files.data(), files.size(), &bound, nullptr);
  }
};

}  // namespace gnstor::host

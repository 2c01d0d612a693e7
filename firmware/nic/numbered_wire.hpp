#pragma once

#include <gnstor/simt/clock.hpp>

#include <nic/nic_node.hpp>
#include <nic/nic_wire.hpp>
#include <nic/numbered_generator.hpp>
#include <nic/one_lane.hpp>

namespace gnstor::fw {

/// A wire that a generator of numbered frames gives to, which treats them as its faults say, and
/// whose other end is the port's sinks.
class numbered_wire {
 public:
  GNSTOR_HD numbered_wire(const nic_node& node, std::uint32_t port)
      : node_(&node), port_(&node.ports[port]), generator_(node, port) {}

  GNSTOR_HD wire_arrival look() {
    if (port_->sequence >= node_->frames || node_->is_loop(generator_.stream())) return {};
    if (!is_free(port_->in_due)) return {};
    const wire_arrival a = generator_.arrival(port_->sequence);
    if (a.what == wire_arrival::kind::dropped) {
      nic_counters::add(*generator_.dropped(a));
      pass(a, false);
    }
    return a;
  }
  GNSTOR_HD void write(const wire_arrival& a, unsigned char* to) const { generator_.write(a, to); }

  GNSTOR_HD void pass(const wire_arrival& a, bool delivered) {
    take(port_->in_due, a.bytes);
    nic_counters& c = port_->counters;
    if (delivered) {
      if (a.is_good()) nic_counters::add(c.given_digest, numbered::digest_of(a.number));
      nic_counters::add(*generator_.counter_of(a));
    }
    if (delivered && a.fate == fate::duplicated && ++port_->copies == 1) return;  // and once more
    port_->copies = 0;
    ++port_->sequence;
    system_word<std::uint64_t>(c.made).store(port_->sequence, release);
  }

  GNSTOR_HD bool send(const unsigned char* from, std::uint32_t bytes) {
    if (!is_free(port_->out_due)) return false;
    take(port_->out_due, bytes);
    numbered::label which{};
    const bool is_known = port_->sinks.take(one_lane{}, from, bytes, node_->addresses, which);
    if (is_known && node_->transits != nullptr)
      node_->transits->ends(which.stream, which.sequence, simt::now_ns());
    return true;
  }

 private:
  using fate = wire_faults::fate;
  using numbered = wire::ethernet::numbered_frame;

  GNSTOR_HD bool is_free(std::uint64_t due) const {
    return node_->rate.byte_ps == 0 || node_->rate.is_free(due, simt::now_ns());
  }
  GNSTOR_HD void take(std::uint64_t& due, std::uint32_t bytes) const {
    if (node_->rate.byte_ps != 0) due = node_->rate.take(due, bytes, simt::now_ns());
  }
  const nic_node* node_;
  nic_port* port_;
  numbered_generator generator_;
};

static_assert(nic_wire<numbered_wire>);

/// The wires of a NIC's ports. Passed to its service by value.
struct numbered_wires {
  GNSTOR_HD numbered_wire operator()(const nic_node& node, std::uint32_t port) const {
    return {node, port};
  }
  /// Gives way after `quiet` rounds in vain.
  GNSTOR_HD void rest(std::uint32_t quiet) const { simt::pause(quiet); }
};

}  // namespace gnstor::fw

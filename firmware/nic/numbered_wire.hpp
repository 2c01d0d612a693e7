#pragma once

#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/ethernet/numbered_frame.hpp>

#include <nic/nic_node.hpp>
#include <nic/nic_wire.hpp>

namespace gnstor::fw {

/// A wire that a generator of numbered frames gives to, which treats them as its faults say, and
/// whose other end is the port's sinks.
class numbered_wire {
 public:
  GNSTOR_HD numbered_wire(const nic_node& node, std::uint32_t port)
      : node_(&node), port_(&node.ports[port]), stream_(static_cast<std::uint16_t>(port)) {}

  GNSTOR_HD wire_arrival look() {
    wire_arrival a;
    if (port_->sequence >= node_->frames || node_->is_loop(stream_)) return a;
    if (!is_free(port_->in_due)) return a;
    a.number = port_->sequence;
    a.bytes = length_of(a.number);
    a.fate = node_->faults.of(a.number + (std::uint64_t{stream_} << 48));
    nic_counters& c = port_->counters;
    switch (a.fate) {
      case fate::lost: return drop(a, c.lost);
      case fate::runt: return drop(a, c.runts);
      case fate::oversize: return drop(a, c.oversize);
      case fate::damaged: a.error = wire::intel::frame_error::check_sequence; break;
      case fate::miscounted: a.error = wire::intel::frame_error::checksum; break;
      default: break;
    }
    a.what = wire_arrival::kind::frame;
    a.is_checked = true;
    return a;
  }

  GNSTOR_HD void write(const wire_arrival& a, unsigned char* to) const {
    const auto bytes = static_cast<std::uint16_t>(a.bytes);
    if (node_->transits != nullptr) node_->transits->begins(stream_, a.number, simt::now_ns());
    numbered::make(to, numbered::labelled(a.number, stream_, bytes), node_->addresses);
    if (a.fate == fate::damaged) to[14 + node_->faults.drawn(a.number, 4) % (bytes - 14u)] ^= 0x10;
    if (a.fate == fate::miscounted) to[24] ^= 0x10;
  }

  GNSTOR_HD void pass(const wire_arrival& a, bool delivered) {
    take(port_->in_due, a.bytes);
    nic_counters& c = port_->counters;
    if (delivered && a.fate == fate::damaged) nic_counters::add(c.damaged);
    if (delivered && a.fate == fate::miscounted) nic_counters::add(c.miscounted);
    if (delivered && (a.fate == fate::sound || a.fate == fate::duplicated)) {
      nic_counters::add(c.given_digest, numbered::digest_of(a.number));
      nic_counters::add(c.given);
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
    if (port_->sinks.take(from, bytes, node_->addresses, which) && node_->transits != nullptr)
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
  GNSTOR_HD wire_arrival drop(wire_arrival& a, std::uint64_t& counter) {
    nic_counters::add(counter);
    pass(a, false);
    a.what = wire_arrival::kind::dropped;
    return a;
  }
  GNSTOR_HD std::uint16_t length_of(std::uint64_t n) const {
    if (node_->frame_bytes != 0) return static_cast<std::uint16_t>(node_->frame_bytes);
    constexpr std::uint32_t least = wire::ethernet::min_frame_bytes;
    constexpr std::uint32_t most = wire::ethernet::max_frame_bytes;
    return static_cast<std::uint16_t>(least + node_->faults.drawn(n, 5) % (most - least + 1));
  }

  const nic_node* node_;
  nic_port* port_;
  std::uint16_t stream_;
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

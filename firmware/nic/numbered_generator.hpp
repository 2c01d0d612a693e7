#pragma once

#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/ethernet/numbered_frame.hpp>

#include <nic/nic_node.hpp>
#include <nic/wire_arrival.hpp>

namespace gnstor::fw {

/// What the generator of a port makes, and what its wire does to that: all of it follows from a
/// frame's number.
class numbered_generator {
 public:
  GNSTOR_HD numbered_generator(const nic_node& node, std::uint32_t port)
      : node_(&node), port_(&node.ports[port]), stream_(static_cast<std::uint16_t>(port)) {}

  GNSTOR_HD std::uint16_t stream() const { return stream_; }

  /// Frame `number`: one that comes, or that is dropped on the way.
  GNSTOR_HD wire_arrival arrival(std::uint64_t number) const {
    wire_arrival a;
    a.number = number;
    a.bytes = length_of(number);
    a.fate = node_->faults.of(number + (std::uint64_t{stream_} << 48));
    a.is_checked = true;
    const bool is_dropped =
        a.fate == fate::lost || a.fate == fate::runt || a.fate == fate::oversize;
    a.what = is_dropped ? wire_arrival::kind::dropped : wire_arrival::kind::frame;
    if (a.fate == fate::damaged) a.error = wire::intel::frame_error::check_sequence;
    if (a.fate == fate::miscounted) a.error = wire::intel::frame_error::checksum;
    return a;
  }
  /// Where a frame is counted that was delivered.
  GNSTOR_HD std::uint64_t* counter_of(const wire_arrival& a) const {
    nic_counters& c = port_->counters;
    if (a.fate == fate::damaged) return &c.damaged;
    return a.fate == fate::miscounted ? &c.miscounted : &c.given;
  }
  /// Where one is counted that was dropped on the way; null: it was not.
  GNSTOR_HD std::uint64_t* dropped(const wire_arrival& a) const {
    nic_counters& c = port_->counters;
    if (a.fate == fate::lost) return &c.lost;
    if (a.fate == fate::runt) return &c.runts;
    return a.fate == fate::oversize ? &c.oversize : nullptr;
  }
  /// Writes the frame's `a.bytes` bytes.
  GNSTOR_HD void write(const wire_arrival& a, unsigned char* to) const {
    const auto bytes = static_cast<std::uint16_t>(a.bytes);
    if (node_->transits != nullptr) node_->transits->begins(stream_, a.number, simt::now_ns());
    numbered::make(to, numbered::labelled(a.number, stream_, bytes), node_->addresses);
    if (a.fate == fate::damaged) to[14 + node_->faults.drawn(a.number, 4) % (bytes - 14u)] ^= 0x10;
    if (a.fate == fate::miscounted) to[24] ^= 0x10;
  }

 private:
  using fate = wire_faults::fate;
  using numbered = wire::ethernet::numbered_frame;

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

}  // namespace gnstor::fw

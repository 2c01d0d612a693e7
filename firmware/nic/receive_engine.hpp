#pragma once

#include <nic/nic_model.hpp>
#include <nic/ring_engine.hpp>

namespace gnstor::fw {

/// A port's way in: makes numbered frames, treats them as the wire does, and writes what arrives to
/// the receive ring.
/// @tparam Model `nic_82599` or `nic_82574`
template <class Model>
class receive_engine {
 public:
  GNSTOR_HD receive_engine(const nic_node& node, std::uint32_t port)
      : node_(&node),
        port_(&node.ports[port]),
        stream_(static_cast<std::uint16_t>(port)),
        ring_(node, *port_, Model::registers::receive(0), port_->receive) {}

  /// One round. True if anything was done.
  GNSTOR_HD bool tick() {
    const auto report = [](wire::intel::descriptor& d) { set_done(d); };
    if (!ring_.is_enabled(report)) return false;
    bool busy = ring_.report_due(report);
    for (std::uint32_t k = 0; k < burst && has_more(); ++k) {
      if (!bring()) break;
      busy = true;
    }
    return busy;
  }

  /// Takes a frame that the port's own wire brings back. False if it has to wait for a descriptor.
  GNSTOR_HD bool bring_back(const unsigned char* frame, std::uint32_t bytes) {
    nic_counters& c = port_->counters;
    wire::intel::descriptor* const d = ring_.is_open() ? ring_.next() : nullptr;
    if (d == nullptr) {
      if (ring_.is_open() && !node_->drops_when_full) return false;
      nic_counters::add(c.missed);
      return true;
    }
    unsigned char* const to = node_->find(d->address, bytes);
    if (to != nullptr) std::memcpy(to, frame, bytes);
    write_back(*d, to != nullptr, bytes, format::end_of_packet);
    ring_.use();
    nic_counters::add(c.delivered, to != nullptr ? 1 : 0);
    return true;
  }

 private:
  using format = typename Model::receive_format;
  using fate = wire_faults::fate;

  GNSTOR_HD bool has_more() const {
    return port_->sequence < node_->frames && !node_->is_loop(stream_);
  }
  static constexpr std::uint32_t burst = 32;

  /// Done bits come in a write of their own, after everything else: a driver polls.
  GNSTOR_HD static void set_done(wire::intel::descriptor& d) {
    system_word<std::uint32_t> word(format::done_word(d));
    // Paired with the acquire of the receive kernel.
    word.store(word.load(relaxed) | wire::intel::descriptor_done, release);
  }

  /// Brings the next frame. False if it has to wait for a descriptor.
  GNSTOR_HD bool bring() {
    const std::uint64_t n = port_->sequence;
    const fate what = node_->faults.of(n + (std::uint64_t{stream_} << 48));
    nic_counters& c = port_->counters;
    switch (what) {
      case fate::lost: nic_counters::add(c.lost); return pass();
      case fate::runt: nic_counters::add(c.runts); return pass();
      case fate::oversize: nic_counters::add(c.oversize); return pass();
      default: break;
    }
    wire::intel::descriptor* const d = ring_.next();
    if (d == nullptr) {
      if (!node_->drops_when_full) return false;
      nic_counters::add(c.missed);
      return pass();
    }
    const bool written = write(*d, n, what);
    ring_.use();
    if (!written) return pass();
    nic_counters::add(c.delivered);
    if (what == fate::damaged) nic_counters::add(c.damaged);
    if (what == fate::miscounted) nic_counters::add(c.miscounted);
    if (what == fate::sound || what == fate::duplicated) {
      nic_counters::add(c.given_digest, frame_sinks::digest_of(n));
      nic_counters::add(c.given);
    }
    if (what == fate::duplicated && ++port_->copies == 1) return true;  // and once more
    return pass();
  }
  GNSTOR_HD bool pass() {
    port_->copies = 0;
    ++port_->sequence;
    system_word<std::uint64_t>(port_->counters.made).store(port_->sequence, release);
    return true;
  }

  /// Writes frame and descriptor, without the done bit. False if the buffer is nobody's: then the
  /// descriptor says that nothing came.
  GNSTOR_HD bool write(wire::intel::descriptor& d, std::uint64_t n, fate what) {
    const std::uint16_t bytes = length_of(n);
    unsigned char* const to = node_->find(d.address, bytes);
    std::uint32_t status = format::end_of_packet | format::ip_checked;
    if (to != nullptr) {
      numbered_frame::make(to, numbered_frame::labelled(n, stream_, bytes));
      if (what == fate::damaged) {
        to[14 + node_->faults.drawn(n, 4) % (bytes - 14u)] ^= 0x10;
        status |= format::check_sequence_error;
      } else if (what == fate::miscounted) {
        to[24] ^= 0x10;
        status |= format::ip_error;
      }
    }
    write_back(d, to != nullptr, bytes, status);
    return to != nullptr;
  }
  /// Says in a descriptor what came, but for the done bit.
  GNSTOR_HD void write_back(wire::intel::descriptor& d, bool has_frame, std::uint32_t bytes,
                            std::uint32_t status) {
    if (!has_frame) nic_counters::add(port_->counters.faults);
    d.address = 0;  // packet type and hash
    format::other_word(d) = has_frame ? bytes : 0;
    system_word<std::uint32_t>(format::done_word(d))
        .store(has_frame ? status : status | Model::no_frame, relaxed);
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
  ring_engine ring_;
};

}  // namespace gnstor::fw

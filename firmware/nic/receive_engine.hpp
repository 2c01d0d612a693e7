#pragma once

#include <nic/nic_model.hpp>
#include <nic/nic_wire.hpp>
#include <nic/ring_engine.hpp>

#include <cstring>

namespace gnstor::fw {

/// A port's way in: writes what its wire brings to the receive ring.
/// @tparam Model `nic_82599` or `nic_82574`
template <class Model, nic_wire Wire>
class receive_engine {
 public:
  GNSTOR_HD receive_engine(const nic_node& node, std::uint32_t port, Wire wire)
      : node_(&node),
        port_(&node.ports[port]),
        wire_(wire),
        ring_(node, *port_, Model::registers::receive(0), port_->receive) {}

  /// One round. True if anything was done.
  GNSTOR_HD bool tick() {
    const auto report = [](wire::intel::descriptor& d) { set_done(d); };
    if (!ring_.is_enabled(report)) return false;
    bool busy = ring_.report_due(report);
    for (std::uint32_t k = 0; k < burst; ++k) {
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
  using frame_error = wire::intel::frame_error;
  static constexpr std::uint32_t burst = 32;

  /// Done bits come in a write of their own, after everything else: a driver polls.
  GNSTOR_HD static void set_done(wire::intel::descriptor& d) {
    system_word<std::uint32_t> word(format::done_word(d));
    // Paired with the acquire of the receive kernel.
    word.store(word.load(relaxed) | wire::intel::descriptor_done, release);
  }

  /// Brings the next frame. False if there is none, or it has to wait for a descriptor.
  GNSTOR_HD bool bring() {
    const wire_arrival a = wire_.look();
    if (a.what != wire_arrival::kind::frame) return a.what == wire_arrival::kind::dropped;
    nic_counters& c = port_->counters;
    wire::intel::descriptor* const d = ring_.next();
    if (d == nullptr) {
      if (!node_->drops_when_full) return false;
      nic_counters::add(c.missed);
      wire_.pass(a, false);
      return true;
    }
    unsigned char* const to = node_->find(d->address, a.bytes);
    if (to != nullptr) wire_.write(a, to);
    write_back(*d, to != nullptr, a.bytes, status_of(a));
    ring_.use();
    nic_counters::add(c.delivered, to != nullptr ? 1 : 0);
    wire_.pass(a, to != nullptr);
    return true;
  }
  GNSTOR_HD static std::uint32_t status_of(const wire_arrival& a) {
    std::uint32_t status = format::end_of_packet;
    if (a.is_checked) status |= format::ip_checked;
    if (a.error == frame_error::check_sequence) status |= format::check_sequence_error;
    if (a.error == frame_error::checksum) status |= format::ip_error;
    return status;
  }
  /// Says in a descriptor what came, but for the done bit. Where the buffer is nobody's it says
  /// that nothing came.
  GNSTOR_HD void write_back(wire::intel::descriptor& d, bool has_frame, std::uint32_t bytes,
                            std::uint32_t status) {
    if (!has_frame) nic_counters::add(port_->counters.faults);
    d.address = 0;  // packet type and hash
    format::other_word(d) = has_frame ? bytes : 0;
    system_word<std::uint32_t>(format::done_word(d))
        .store(has_frame ? status : status | Model::no_frame, relaxed);
  }

  const nic_node* node_;
  nic_port* port_;
  Wire wire_;
  ring_engine ring_;
};

}  // namespace gnstor::fw

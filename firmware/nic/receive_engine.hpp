#pragma once

#include <nic/nic_wire.hpp>
#include <nic/receive_report.hpp>
#include <nic/ring_engine.hpp>

#include <cstring>

namespace gnstor::fw {

/// A port's way in: writes what its wire brings to the receive rings, each frame to the one that
/// `receive_steering` chooses.
///
/// A frame that waits for a descriptor holds up those behind it, whatever their ring, as in the
/// 82599's packet buffer; one for a ring that nobody has open is missed.
/// @tparam Model `nic_82599` or `nic_82574`
template <class Model, nic_wire Wire>
class receive_engine {
 public:
  GNSTOR_HD receive_engine(const nic_node& node, std::uint32_t port, Wire wire)
      : node_(&node), port_(&node.ports[port]), wire_(wire) {}

  /// One round. True if anything was done.
  GNSTOR_HD bool tick() {
    const auto set_done = [](wire::intel::descriptor& d) { report::set_done(d); };
    bool busy = false;
    bool any = false;
    for (std::uint32_t q = 0; q < node_->queues; ++q) {
      ring_engine r = ring(q);
      if (!r.is_enabled(set_done)) continue;
      any = true;
      busy = r.report_due(set_done) || busy;
    }
    // Before all of its rings have been opened a port would miss what is for the others.
    if (any && node_->queues != 1) any = port_->is_listening();
    for (std::uint32_t k = 0; any && k < burst * node_->queues; ++k) {
      if (!bring()) break;
      busy = true;
    }
    return busy;
  }

  /// Takes a frame that the port's own wire brings back. False if it has to wait for a descriptor.
  GNSTOR_HD bool bring_back(const unsigned char* frame, std::uint32_t bytes) {
    const choice where = choose(frame, bytes);
    ring_engine r = ring(where.queue);
    wire::intel::descriptor* const d = r.is_open() ? r.next() : nullptr;
    if (d == nullptr) {
      if (r.is_open() && !node_->drops_when_full) return false;
      miss(where.queue);
      return true;
    }
    unsigned char* const to = node_->find(d->address, bytes);
    if (to != nullptr) std::memcpy(to, frame, bytes);
    write_back(*d, to != nullptr, bytes, report::whole, where);
    deliver(r, where.queue, to != nullptr);
    return true;
  }

 private:
  using report = receive_report<Model>;
  using choice = receive_steering::choice;
  static constexpr std::uint32_t burst = 32;

  /// Brings the next frame. False if there is none, or it has to wait for a descriptor.
  GNSTOR_HD bool bring() {
    const wire_arrival a = wire_.look();
    if (a.what != wire_arrival::kind::frame) return a.what == wire_arrival::kind::dropped;
    const choice where = node_->queues == 1 ? choice{} : look_into(a);
    ring_engine r = ring(where.queue);
    // One that is the only one was found enabled before.
    const bool is_open = node_->queues == 1 || r.is_open();
    wire::intel::descriptor* const d = is_open ? r.next() : nullptr;
    if (d == nullptr) {
      if (is_open && !node_->drops_when_full) return false;
      miss(where.queue);
      pass(a, false);
      return true;
    }
    unsigned char* const to = node_->find(d->address, a.bytes);
    if (to != nullptr) write(a, to);
    write_back(*d, to != nullptr, a.bytes, report::status_of(a), where);
    deliver(r, where.queue, to != nullptr);
    pass(a, to != nullptr);
    return true;
  }

  /// The ring of a frame, which lies in the port's own memory from then on until it is passed.
  GNSTOR_HD choice look_into(const wire_arrival& a) {
    if (port_->buffered == 0) {
      wire_.write(a, port_->buffer);
      port_->buffered = a.bytes;
    }
    return choose(port_->buffer, port_->buffered);
  }
  GNSTOR_HD choice choose(const unsigned char* frame, std::uint32_t bytes) const {
    return node_->queues == 1 ? choice{} : receive_steering(*port_).of(frame, bytes);
  }
  GNSTOR_HD void write(const wire_arrival& a, unsigned char* to) {
    if (port_->buffered == 0) return wire_.write(a, to);
    std::memcpy(to, port_->buffer, port_->buffered);
  }
  GNSTOR_HD void pass(const wire_arrival& a, bool delivered) {
    port_->buffered = 0;
    wire_.pass(a, delivered);
  }
  GNSTOR_HD void miss(std::uint32_t queue) {
    nic_counters::add(port_->counters.missed);
    nic_counters::add(port_->receive[queue].missed);
  }
  GNSTOR_HD void deliver(ring_engine& r, std::uint32_t queue, bool has_frame) {
    r.use();
    if (!has_frame) return;
    nic_counters::add(port_->counters.delivered);
    nic_counters::add(port_->receive[queue].frames);
  }
  GNSTOR_HD ring_engine ring(std::uint32_t queue) {
    return {*node_, *port_, Model::registers::receive(queue), port_->receive[queue]};
  }
  /// Says in a descriptor what came.
  GNSTOR_HD void write_back(wire::intel::descriptor& d, bool has_frame, std::uint32_t bytes,
                            std::uint32_t status, const choice& where) {
    if (!has_frame) nic_counters::add(port_->counters.faults);
    report::write(d, has_frame, bytes, status, where);
  }

  const nic_node* node_;
  nic_port* port_;
  Wire wire_;
};

}  // namespace gnstor::fw

#pragma once

#include <nic/nic_model.hpp>
#include <nic/receive_engine.hpp>
#include <nic/ring_engine.hpp>
#include <nic/transmit_request.hpp>

namespace gnstor::fw {

/// A port's way out: reads frames by the transmit rings, one of each in turn, and gives them to the
/// port's wire, or back to the port where that is a loop.
/// @tparam Model as of `receive_engine`
template <class Model, nic_wire Wire>
class transmit_engine {
 public:
  /// @param in the port's way in, for a wire that brings frames back
  GNSTOR_HD transmit_engine(const nic_node& node, std::uint32_t port, Wire wire,
                            receive_engine<Model, Wire>& in)
      : node_(&node),
        in_(node.is_loop(port) ? &in : nullptr),
        port_(&node.ports[port]),
        wire_(wire) {}

  /// One round. True if anything was done.
  GNSTOR_HD bool tick() {
    const auto report = [](wire::intel::descriptor& d) { request::set_done(d); };
    bool busy = false;
    std::uint32_t enabled = 0;  // a bit per queue
    for (std::uint32_t q = 0; q < node_->queues; ++q) {
      ring_engine r = ring(q);
      if (!r.is_enabled(report)) continue;
      enabled |= 1u << q;
      busy = r.report_due(report) || busy;
    }
    std::uint32_t idle = enabled == 0 ? node_->queues : 0;  // queues in a row that sent nothing
    for (std::uint32_t k = 0; k < burst * node_->queues && idle < node_->queues; ++k) {
      const std::uint32_t queue = port_->next_transmit;
      port_->next_transmit = (queue + 1) % node_->queues;
      const bool sends = (enabled >> queue & 1) != 0 && send_next(queue);
      idle = sends ? 0 : idle + 1;
      busy = sends || busy;
    }
    return busy;
  }

 private:
  using request = transmit_request<Model>;
  static constexpr std::uint32_t burst = 32;

  /// False if a queue has no frame, or it has to wait.
  GNSTOR_HD bool send_next(std::uint32_t queue) {
    ring_engine r = ring(queue);
    const wire::intel::descriptor* const d = r.next();
    if (d == nullptr || !send(*d, queue)) return false;
    r.use();
    return true;
  }
  GNSTOR_HD ring_engine ring(std::uint32_t queue) {
    return {*node_, *port_, Model::registers::transmit(queue), port_->transmit[queue]};
  }

  /// False if the frame has to wait.
  GNSTOR_HD bool send(const wire::intel::descriptor& d, std::uint32_t queue) {
    nic_counters& c = port_->counters;
    const auto frame = request::of(*node_, d);
    if (std::uint64_t* const fault = frame.fault(c)) {
      nic_counters::add(*fault);
      return true;
    }
    const unsigned char* const from = frame.from;
    const std::uint32_t bytes = frame.bytes;
    if (!(in_ == nullptr ? wire_.send(from, bytes) : in_->bring_back(from, bytes))) return false;
    nic_counters::add(c.sent);
    nic_counters::add(port_->transmit[queue].frames);
    return true;
  }

  const nic_node* node_;
  receive_engine<Model, Wire>* in_;
  nic_port* port_;
  Wire wire_;
};

}  // namespace gnstor::fw

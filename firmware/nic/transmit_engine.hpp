#pragma once

#include <nic/nic_model.hpp>
#include <nic/receive_engine.hpp>
#include <nic/ring_engine.hpp>

namespace gnstor::fw {

/// A port's way out: reads frames by the transmit ring and gives them to the port's wire, or back
/// to the port where that is a loop.
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
        wire_(wire),
        ring_(node, *port_, Model::registers::transmit(0), port_->transmit) {}

  /// One round. True if anything was done.
  GNSTOR_HD bool tick() {
    const auto report = [](wire::intel::descriptor& d) { set_done(d); };
    if (!ring_.is_enabled(report)) return false;
    bool busy = ring_.report_due(report);
    for (std::uint32_t k = 0; k < burst; ++k) {
      wire::intel::descriptor* const d = ring_.next();
      if (d == nullptr) break;
      if (!send(*d)) break;
      ring_.use();
      busy = true;
    }
    return busy;
  }

 private:
  using format = typename Model::transmit_format;
  static constexpr std::uint32_t burst = 32;

  /// Only where it was asked for.
  GNSTOR_HD static void set_done(wire::intel::descriptor& d) {
    if ((d.lower & wire::intel::transmit_command::report_status) == 0) return;
    system_word<std::uint32_t> word(d.upper);
    // Paired with the acquire of the transmit kernel: the frame has been read.
    word.store(word.load(relaxed) | wire::intel::descriptor_done, release);
  }

  /// False if the frame has to wait.
  GNSTOR_HD bool send(const wire::intel::descriptor& d) {
    nic_counters& c = port_->counters;
    const std::uint32_t bytes = format::length(d);
    if (!format::is_data(d) || bytes == 0 || bytes > node_->max_frame_bytes) {
      nic_counters::add(c.bad_transmits);
      return true;
    }
    const unsigned char* const from = node_->find(d.address, bytes);
    if (from == nullptr) {
      nic_counters::add(c.faults);
      return true;
    }
    if (!(in_ == nullptr ? wire_.send(from, bytes) : in_->bring_back(from, bytes))) return false;
    nic_counters::add(c.sent);
    return true;
  }

  const nic_node* node_;
  receive_engine<Model, Wire>* in_;
  nic_port* port_;
  Wire wire_;
  ring_engine ring_;
};

}  // namespace gnstor::fw

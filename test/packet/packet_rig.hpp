#pragma once
/// A packet path between two ports of an emulated NIC, all of it in one host executor.

#include "qp/seed_sweep.hpp"
#include <gnstor/packet/application_kernel.hpp>
#include <gnstor/packet/receive_kernel.hpp>
#include <gnstor/packet/source_kernel.hpp>
#include <gnstor/packet/transmit_kernel.hpp>
#include <gnstor/simt_host/executor.hpp>

#include <nic/nic_ring_service.hpp>
#include <nic/nic_service.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gnstor::test {

/// What a rig is made of.
struct packet_rig_shape {
  packet_pool_shape pool{.lanes = 8, .buffers = 16, .bytes = 2048};
  std::uint32_t turn = 4;
  std::uint32_t send_port = 1;  ///< 0: where the frames come from
  std::uint32_t applications = 1;
  std::uint64_t frames = 40;
  std::uint32_t frame_bytes = 60;
  std::uint32_t max_frame_bytes = 1514;
  bool drops_when_full = false;
  fw::wire_faults faults{};
  std::uint64_t drain_ns = 1'000'000'000;
  std::uint64_t settle_ns = 100'000'000;
  std::uint64_t step_budget = 20'000'000;
  std::uint32_t ring_threads = 0;  ///< the NIC as on a GPU, a block of so many per ring; 0: a lane
                                   ///< per port
};

/// Passes everything on.
struct forward_all {
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet) {
    return packet_verdict::forward;
  }
};

struct nothing_beside {
  void operator()(host::executor&) const {}
};

/// @tparam Model of the NIC
template <class Model>
class rig_of {
 public:
  using receive_format = typename Model::receive_format;
  using transmit_format = typename Model::transmit_format;
  using path_type = packet_path<receive_format, transmit_format>;

  explicit rig_of(const packet_rig_shape& shape)
      : shape_(shape),
        states_(shape.pool.buffers),
        data_(shape.pool.data_bytes() + 128),
        receive_(shape.pool.lanes),
        transmit_(shape.pool.lanes),
        arrived_(shape.pool.lanes / shape.turn),
        progress_((shape.applications + 1) * shape.pool.lanes),
        sending_(shape.pool.lanes),
        ports_(std::make_unique<fw::nic_port[]>(2)),
        windows_(fw::nic_window::most),
        paths_(fw::nic_node::most_paths) {
    auto* const data = reinterpret_cast<unsigned char*>(
        (reinterpret_cast<std::uintptr_t>(data_.data()) + 127) / 128 * 128);
    open_window(0, receive_bus, receive_.data(), receive_.size() * 16);
    open_window(1, transmit_bus, transmit_.data(), transmit_.size() * 16);
    open_window(2, data_bus, data, shape.pool.data_bytes());
    node_.ports = ports_.get();
    node_.windows = windows_.data();
    node_.paths = paths_.data();
    node_.port_count = 2;
    node_.frames = shape.frames;
    node_.frame_bytes = shape.frame_bytes;
    node_.max_frame_bytes = shape.max_frame_bytes;
    node_.drops_when_full = shape.drops_when_full;
    node_.settle_ns = shape.settle_ns;
    node_.faults = shape.faults;
    node_.stop = &stop_;
    ports_[0].listens = 1;
    paths_[0] = reinterpret_cast<std::uint64_t>(&end_);
    control_->stop = &end_;
    using registers = typename Model::registers;
    path_.receive = receive_ring<receive_format>(
        open_ring(ports_[0], ports_[0].receive[0], registers::receive(0), receive_, receive_bus));
    path_.transmit =
        transmit_ring<transmit_format>(open_ring(sending_port(), sending_port().transmit[0],
                                                 registers::transmit(0), transmit_, transmit_bus));
    path_.pool = packet_pool(shape.pool, states_.data(), data, data_bus);
    path_.control = control_.get();
    path_.arrived = arrived_.data();
    path_.progress = progress_.data();
    path_.sending = sending_.data();
    path_.turn = shape.turn;
    path_.applications = shape.applications;
    path_.drain_ns = shape.drain_ns;
  }

  const path_type& path() const { return path_; }
  fw::nic_port& port(std::uint32_t k) { return ports_[k]; }
  packet_control& control() { return *control_; }

  /// Runs all kernels and the NIC to their end. What went wrong, or nothing.
  /// @param beside adds further grids: `beside(executor)`
  /// @param wires of the NIC
  template <class App, class Beside = nothing_beside, class Wires = fw::numbered_wires>
  std::string run(const host::options& chosen, const App& app, const Beside& beside = {},
                  const Wires& wires = {}) {
    return run_behind(chosen, receive_kernel{}, app, beside, wires);
  }
  /// The same with a source in the place of what is received.
  template <packet_source Source, class App, class Beside = nothing_beside>
  std::string run_source(const host::options& chosen, const Source& source, std::uint64_t positions,
                         const App& app, const Beside& beside = {}) {
    return run_behind(chosen, source_kernel<Source>{source, positions}, app, beside,
                      fw::numbered_wires{});
  }

  /// The second port looks at its transmit ring no more, but for being asked to let go of it.
  void pause_transmit() { ports_[1].registers[Model::registers::transmit(0).bytes / 4] = 0; }
  /// Frames are timed from now on.
  void measure(fw::frame_transits& where) { node_.transits = &where; }
  /// The NIC does nothing any more.
  void die() { node_.port_count = 0; }

  std::uint64_t count(packet_cause cause) { return control_->counters.read(cause); }

  /// What may not be, whatever the wire and the applications do; nothing if all is well.
  std::string fault() {
    const std::string general = fault_but_for_the_rest();
    if (!general.empty()) return general;
    return ports_[0].counters.made == shape_.frames ? "" : "the generator did not end";
  }
  /// The same where the path stops before the generator has ended.
  std::string fault_but_for_the_rest() {
    fw::nic_counters& in = ports_[0].counters;
    fw::nic_counters& out = sending_port().counters;
    fw::frame_sinks& sinks = ports_[1].sinks;
    const auto bad = [this] {
      return count(packet_cause::bad_check_sequence) + count(packet_cause::bad_length) +
             count(packet_cause::bad_checksum) + count(packet_cause::bad_other);
    };
    const auto away = std::count_if(states_.begin(), states_.end(), [](const packet_state& s) {
      return s.owner != packet_owner::free;
    });
    if (static_cast<std::uint64_t>(away) != count(packet_cause::stuck))
      return std::to_string(away) + " buffers are not home";
    if (sinks.foreign != 0) return "something was sent that was not given";
    if (sinks.of[0].unsound != 0) return "a frame was sent that is not as it came";
    if (in.faults + out.faults != 0) return "an address was nobody's";
    if (in.bad_tails + out.bad_tails != 0) return "a tail beyond its ring";
    if (out.bad_transmits != 0) return "a descriptor described no frame";
    const std::uint64_t taken = count(packet_cause::received) + bad();
    if (taken > in.delivered || in.delivered - taken > count(packet_cause::stuck))
      return "a frame was not counted";
    if (count(packet_cause::received) + count(packet_cause::made) !=
        count(packet_cause::sent) + count(packet_cause::dropped) + count(packet_cause::held_back) +
            count(packet_cause::unsendable) + count(packet_cause::unsent)) {
      return "a packet is in no account";
    }
    if (count(packet_cause::sent) != out.sent) return "the NIC sent another number";
    return {};
  }
  /// The same, and that everything given was sent on, once and in order.
  std::string fault_of_forwarding() {
    const std::string general = fault();
    if (!general.empty()) return general;
    const fw::frame_sink& sink = ports_[1].sinks.of[0];
    const fw::nic_counters& in = ports_[0].counters;
    if (sink.count != in.given)
      return std::to_string(sink.count) + " of " + std::to_string(in.given) + " frames came out";
    if (sink.digest != in.given_digest) return "other frames came out";
    return sink.reordered != 0 ? "frames came out in another order" : "";
  }

 private:
  template <class First, class App, class Beside, class Wires>
  std::string run_behind(host::options chosen, const First& first, const App& app,
                         const Beside& beside, const Wires& wires) {
    chosen.step_budget = shape_.step_budget;
    host::executor machine(chosen);
    machine.spawn(path_.turns(), path_.turn, first, path_);
    for (std::uint32_t k = 0; k < shape_.applications; ++k)
      machine.spawn(path_.turns(), path_.turn, application_kernel<App>{app, k}, path_);
    machine.spawn(path_.turns(), path_.turn, transmit_kernel{}, path_);
    beside(machine);
    if (shape_.ring_threads == 0) {
      machine.serve_in(simt::domain::nic, 2, 1, stop_, fw::nic_service<Model, Wires>{node_, wires});
    } else {
      using service = fw::nic_ring_service<Model>;
      machine.serve(service::blocks(node_), shape_.ring_threads, stop_, service{node_});
    }
    return run_to_end(machine);
  }

  static constexpr std::uint64_t receive_bus = std::uint64_t{1} << 40;
  static constexpr std::uint64_t transmit_bus = std::uint64_t{2} << 40;
  static constexpr std::uint64_t data_bus = std::uint64_t{3} << 40;

  fw::nic_port& sending_port() { return ports_[shape_.send_port]; }
  void open_window(std::uint32_t k, std::uint64_t bus, void* memory, std::uint64_t bytes) {
    windows_[k].open(bus, static_cast<unsigned char*>(memory), bytes);
  }
  static ring_words open_ring(fw::nic_port& port, fw::ring_position& position,
                              const wire::intel::ring_registers& where,
                              std::vector<wire::intel::descriptor>& entries, std::uint64_t bus) {
    const auto reg = [&port](std::uint32_t offset) -> std::uint32_t& {
      return port.registers[offset / 4];
    };
    reg(where.base_low) = static_cast<std::uint32_t>(bus);
    reg(where.base_high) = static_cast<std::uint32_t>(bus >> 32);
    reg(where.bytes) = static_cast<std::uint32_t>(16 * entries.size());
    reg(where.control) = where.enable;
    position.enabled = where.enable;
    ring_words w;
    w.entries = entries.data();
    w.depth = static_cast<std::uint32_t>(entries.size());
    w.tail = &reg(where.tail);
    w.control = &reg(where.control);
    w.state = &position.enabled;
    w.enable = where.enable;
    return w;
  }

  packet_rig_shape shape_;
  std::vector<packet_state> states_;
  std::vector<unsigned char> data_;
  std::vector<wire::intel::descriptor> receive_;
  std::vector<wire::intel::descriptor> transmit_;
  std::vector<std::uint32_t> arrived_;
  std::vector<std::uint32_t> progress_;
  std::vector<std::uint32_t> sending_;
  std::unique_ptr<packet_control> control_ = std::make_unique<packet_control>();
  std::unique_ptr<fw::nic_port[]> ports_;
  std::vector<fw::nic_window> windows_;
  std::vector<std::uint64_t> paths_;
  fw::nic_node node_;
  std::uint32_t stop_ = 0;
  std::uint32_t end_ = 0;  ///< of the flow
  path_type path_;
};

using packet_rig = rig_of<fw::nic_82599>;

}  // namespace gnstor::test

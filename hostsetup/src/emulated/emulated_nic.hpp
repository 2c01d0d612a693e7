#pragma once

#include "nic_memory.hpp"
#include "pcap_port.hpp"
#include "tap_interface.hpp"
#include <gnstor/host/nic_endpoint.hpp>
#include <link/nic_link.hpp>

#include <nic/nic_model.hpp>
#include <nic/nic_node.hpp>

#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace gnstor::host {

/// An Ethernet controller in this process: the rings and registers of an 82599 or an 82574, served
/// by a CPU thread, or beside the kernels by lanes of their executor: one per port, or as on a GPU
/// a block per ring. On its wires are generators and sinks, or interfaces of Linux.
class emulated_nic final : public nic_link {
 public:
  /// Throws `input_error` for options that exclude each other, `error` where there is not so much
  /// memory.
  emulated_nic(const nic_endpoint& where, const nic_options& options);
  ~emulated_nic() override;

  nic_endpoint::model_kind model() const override { return where_.model; }
  std::uint32_t ports() const override { return where_.ports; }
  std::uint32_t queues() const override { return where_.queues; }
  wire::ethernet::mac_address address(std::uint32_t port) const override;
  std::uint32_t usual_depth() const override { return where_.depth; }
  std::uint32_t most_depth() const override { return 4096; }
  memory_block allocate(std::size_t bytes) override {
    return memory_block(reach_, bytes, options_.device);
  }
  memory_block allocate_words(std::size_t bytes) override {
    return memory_block(reach_ == place::host ? place::host : place::device, bytes,
                        options_.device);
  }
  std::uint64_t map(void* memory, std::uint64_t bytes) override;
  void unmap(std::uint64_t address) noexcept override;
  ring_words open_ring(std::uint32_t port, std::uint32_t queue, ring_direction way,
                       const ring_memory& memory) override;
  void close_ring(std::uint32_t port, std::uint32_t queue, ring_direction way) noexcept override;
  void stop_with_frames(std::uint32_t* word, bool wanted) noexcept override;
  nic_statistics statistics(std::uint32_t port) const override;
  latency_histogram transits(std::uint32_t port) const override;
  void check() const override;
  std::vector<std::string> notes() const override;
  void attach(simt::host::executor& executor) override;
  void attach(simt::cuda::executor& executor) override;

 private:
  using model_kind = nic_endpoint::model_kind;

  /// Serves the rings, by whom `run` says: `run(service)`.
  template <class Run, class Wires>
  void with_service(const Run& run, const Wires& wires);
  /// The same by blocks: `run(service)`.
  template <class Run>
  void with_ring_service(const Run& run) const;
  void choose_runner();
  void set_up_node();
  void open_captures();
  void serve() noexcept;
  fw::nic_port& port_at(std::uint32_t port) const;
  const char* who_serves() const;
  static fw::ring_position& position_of(fw::nic_port& port, std::uint32_t queue,
                                        ring_direction way) {
    return way == ring_direction::receive ? port.receive[queue] : port.transmit[queue];
  }
  template <class Model>
  static wire::intel::ring_registers registers_of(std::uint32_t queue, ring_direction way) {
    using registers = typename Model::registers;
    return way == ring_direction::receive ? registers::receive(queue) : registers::transmit(queue);
  }
  wire::intel::ring_registers registers_of(std::uint32_t queue, ring_direction way) const {
    return where_.model == model_kind::intel_82599 ? registers_of<fw::nic_82599>(queue, way)
                                                   : registers_of<fw::nic_82574>(queue, way);
  }
  /// Has each port's frames spread over its receive rings.
  void set_up_scaling();
  void set_up_registers(fw::nic_port& port) const;
  /// Says which frames are for which ring, as the registers of the ports choose.
  fw::generator_order order_of(const std::vector<std::unique_ptr<fw::nic_port>>& ports);
  /// A ring, as an error names it.
  std::string name_of(std::uint32_t port, std::uint32_t queue) const;
  void note_opened(std::uint32_t port, std::uint32_t queue);
  void note_closed(std::uint32_t port, std::uint32_t queue) noexcept;
  void refuse_missing_rings() const;

  nic_endpoint where_;
  nic_options options_;
  place reach_ = place::host;  ///< memory of kernels that the NIC reaches
  bool has_thread_ = false;
  bool has_blocks_ = false;  ///< else lanes serve it where no thread does
  std::unique_ptr<nic_memory> memory_;
  fw::nic_node node_;
  /// Of a port a bit per receive ring.
  struct receive_rings {
    std::uint32_t open = 0;    ///< those that a flow has
    std::uint32_t opened = 0;  ///< those that one had since none was open
  };
  std::vector<receive_rings> opened_;       ///< of each port
  std::vector<tap_interface> taps_;         ///< one per port, or none
  mutable std::deque<pcap_port> captures_;  ///< likewise
  mutable std::mutex use_;                  ///< of windows, paths and what was opened
  std::thread thread_;
};

}  // namespace gnstor::host

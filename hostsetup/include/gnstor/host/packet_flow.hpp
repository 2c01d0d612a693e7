#pragma once

#include <gnstor/core/duration.hpp>
#include <gnstor/host/memory_block.hpp>
#include <gnstor/host/nic.hpp>
#include <gnstor/packet/application_kernel.hpp>
#include <gnstor/packet/receive_kernel.hpp>
#include <gnstor/packet/source_kernel.hpp>
#include <gnstor/packet/transmit_kernel.hpp>

#include <chrono>
#include <cstdint>

namespace gnstor::host {

/// Where packets come from and go to, and what is between.
struct packet_flow_options {
  static constexpr std::uint32_t no_port = ~0u;

  std::uint32_t receive_port = 0;  ///< or `no_port`: a source makes the packets
  std::uint32_t send_port = 1;     ///< or `no_port`: what is forwarded ends there
  std::uint32_t depth = 0;   ///< descriptors of each ring, lanes of each kernel: a power of two of
                             ///< at least two turns; 0: the NIC's own
  std::uint32_t turn = 128;  ///< lanes that share one write of a tail; a power of two
  std::uint32_t buffers = 2048;               ///< a multiple of `depth`: so many for each lane
  std::uint32_t buffer_bytes = 2048;          ///< of a frame at most: 2 to 16 KiB
  std::uint32_t applications = 1;             ///< kernels between receive and transmit, 0 to 8
  duration drain = std::chrono::seconds(10);  ///< how long an end waits for the NIC, at most twice
  std::uint32_t receive_queue = 0;            ///< which of the port's receive rings
  std::uint32_t send_queue = 0;               ///< which of the port's transmit rings
};

/// Packets from a port, or from a source, through applications to a port, or to their end: owns the
/// rings, the buffers, and the words by which its kernels find each other. Used once: when it has
/// stopped its rings are closed.
class packet_flow {
 public:
  /// Throws `input_error` for numbers that do not fit together and for ports and queues that are
  /// not there or in use, `error` where there is not so much memory.
  explicit packet_flow(nic& where, const packet_flow_options& options = {});
  packet_flow(const packet_flow&) = delete;
  packet_flow& operator=(const packet_flow&) = delete;
  ~packet_flow();

  /// Adds the kernels to an executor: they run until the flow stops.
  /// @param applications as many as `options.applications`, the first one first
  template <class Executor, packet_application... Apps>
  void spawn(Executor& run, const Apps&... applications) {
    begin(true, sizeof...(Apps));
    spawn_behind(run, receive_kernel{}, applications...);
  }
  /// The same for a flow without a receive port: a source makes its packets.
  /// @param packets places that the source is asked to fill; then the flow ends by itself
  template <class Executor, packet_source Source, packet_application... Apps>
  void spawn_source(Executor& run, const Source& source, std::uint64_t packets,
                    const Apps&... applications) {
    begin(false, sizeof...(Apps));
    spawn_behind(run, source_kernel<Source>{source, packets}, applications...);
  }

  /// Asks the kernels to stop, from any thread. A flow that receives from an emulated NIC stops by
  /// itself when all frames of its generators are through.
  void stop();
  /// What the kernels have counted so far.
  std::uint64_t count(packet_cause cause) const;

 private:
  template <class Executor, class First, class... Apps>
  void spawn_behind(Executor& run, const First& first, const Apps&... applications) {
    using namespace wire::intel;
    if (model_ == nic_endpoint::model_kind::intel_82599) {
      spawn_on(run, path_, first, applications...);
    } else {
      spawn_on(run, path_of<extended_receive, extended_transmit>(), first, applications...);
    }
  }
  template <class Executor, class Path, class First, class... Apps>
  void spawn_on(Executor& run, const Path& p, const First& first, const Apps&... applications) {
    run.spawn(p.turns(), p.turn, first, p);
    std::uint32_t index = 0;
    (run.spawn(p.turns(), p.turn, application_kernel<Apps>{applications, index++}, p), ...);
    if (p.sends) run.spawn(p.turns(), p.turn, transmit_kernel{}, p);
  }
  /// The same path by other descriptors.
  template <class Receive, class Transmit>
  packet_path<Receive, Transmit> path_of() const {
    packet_path<Receive, Transmit> p;
    p.receive = receive_ring<Receive>(path_.receive.words());
    p.transmit = transmit_ring<Transmit>(path_.transmit.words());
    p.pool = path_.pool;
    p.control = path_.control;
    p.arrived = path_.arrived;
    p.progress = path_.progress;
    p.sending = path_.sending;
    p.turn = path_.turn;
    p.applications = path_.applications;
    p.sends = path_.sends;
    p.drain_ns = path_.drain_ns;
    return p;
  }
  void begin(bool receives, std::size_t applications);
  void lay_out();
  void open_rings();
  void close() noexcept;

  nic_link* link_;
  nic_endpoint::model_kind model_;
  packet_flow_options options_;
  packet_pool_shape shape_;
  memory_block memory_;    ///< of buffers and rings: kernels, this CPU and the NIC reach it
  memory_block own_;       ///< of the words of the kernels alone
  std::uint64_t dma_ = 0;  ///< what the NIC calls it
  std::size_t receive_ring_at_ = 0;
  std::size_t transmit_ring_at_ = 0;
  std::uint32_t* stop_ = nullptr;
  bool receives_ = false;  ///< the ring is open
  bool sends_ = false;
  bool has_begun_ = false;
  packet_path<wire::intel::advanced_receive, wire::intel::advanced_transmit> path_;
};

}  // namespace gnstor::host

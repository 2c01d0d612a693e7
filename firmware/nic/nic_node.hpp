#pragma once

#include <nic/frame_transits.hpp>
#include <nic/generator_order.hpp>
#include <nic/nic_port.hpp>
#include <nic/wire_rate.hpp>

namespace gnstor::fw {

/// What the ports' engines share. Passed to them by value.
struct nic_node {
  nic_port* ports = nullptr;
  nic_window* windows = nullptr;   ///< `nic_window::most` of them
  std::uint64_t* paths = nullptr;  ///< `most_paths` addresses of words to set when all frames are
                                   ///< through; 0: none
  static constexpr std::uint32_t most_paths = 128;
  std::uint32_t port_count = 1;
  std::uint32_t queues = 1;              ///< rings of each port, each way
  std::uint64_t frames = 0;              ///< that each generator makes; 0: the wire is silent
  std::uint32_t frame_bytes = 0;         ///< of each; 0: drawn
  std::uint32_t max_frame_bytes = 1514;  ///< longer ones are dropped
  bool drops_when_full = false;          ///< else a generator waits for descriptors
  std::uint64_t settle_ns = 0;           ///< after the last frame, until it is no longer awaited
  std::uint32_t loops = 0;               ///< a bit per port: its wire brings back what it sends
  frame_transits* transits = nullptr;    ///< where they are measured
  wire_faults faults;
  wire_rate rate;                                ///< of each wire, each way
  wire::ethernet::numbered_addresses addresses;  ///< of the generators' frames
  generator_order order;                         ///< where each ring has a generator of its own
  std::uint32_t* stop = nullptr;

  /// The memory of `bytes` at a bus address; null if it is nobody's.
  GNSTOR_HD unsigned char* find(std::uint64_t address, std::uint64_t bytes) const {
    const std::uint64_t k = nic_window::index_of(address);
    return k < nic_window::most ? windows[k].find(address, bytes) : nullptr;
  }
  GNSTOR_HD bool is_loop(std::uint32_t port) const { return (loops >> port & 1) != 0; }
  /// Stops the packet paths that asked for it.
  GNSTOR_HD void stop_paths() const {
    for (std::uint32_t k = 0; k < most_paths; ++k) {
      const std::uint64_t path = system_word<std::uint64_t>(paths[k]).load(acquire);
      if (path == 0) continue;
      system_word<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(path)).store(1, release);
    }
  }
  GNSTOR_HD bool must_stop() const { return system_word<std::uint32_t>(*stop).load(relaxed) != 0; }
};

static_assert(std::is_trivially_copyable_v<nic_node>);

}  // namespace gnstor::fw

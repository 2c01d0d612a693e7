#pragma once

#include <gnstor/wire/intel/ring_registers.hpp>

#include <nic/frame_sink.hpp>
#include <nic/nic_counters.hpp>
#include <nic/nic_window.hpp>
#include <nic/wire_faults.hpp>

namespace gnstor::fw {

/// What a NIC keeps of one ring between its rounds.
struct ring_position {
  std::uint32_t head;      ///< descriptors before it are used up
  std::uint32_t reported;  ///< and before this one have their done bit
  std::uint32_t delay;     ///< rounds until the next have
  std::uint32_t enabled;   ///< as a driver would read it in the ring's control register
  std::uint64_t used;      ///< descriptors, ever
  std::uint64_t frames;    ///< that went by them
  std::uint64_t missed;    ///< that were for this ring, and found no descriptor
  std::uint64_t sequence;  ///< where each ring has a generator of its own: its next frame
  std::uint32_t copies;    ///< of that, which were delivered
  std::uint32_t lock;      ///< where several may serve the ring: somebody does
};

/// A port of an emulated NIC: registers, rings each way, a generator and sinks on its wire.
struct nic_port {
  static constexpr std::uint32_t register_bytes = 0x8000;
  static constexpr std::uint32_t most_queues = 16;
  static constexpr std::uint32_t buffer_bytes = 16384;

  std::uint32_t registers[register_bytes / 4];
  ring_position receive[most_queues];
  ring_position transmit[most_queues];
  std::uint32_t next_transmit;  ///< the queue that sends the next frame
  std::uint32_t listens;        ///< all receive rings have been opened: the generator may begin
  std::uint32_t buffered;       ///< bytes of the frame in `buffer`; 0: there is none
  alignas(16) unsigned char buffer[buffer_bytes];  ///< a frame until its ring has a descriptor
  std::uint64_t sequence;                          ///< the generator's next number
  std::uint32_t copies;                            ///< of it that were delivered
  std::uint64_t in_due;   ///< when the wire is free for the next frame to come: `wire_rate`
  std::uint64_t out_due;  ///< likewise for the next one to leave
  nic_counters counters;
  frame_sinks sinks;

  GNSTOR_HD bool is_listening() { return system_word<std::uint32_t>(listens).load(acquire) != 0; }
  GNSTOR_HD system_word<std::uint32_t> at(std::uint32_t offset) {
    return system_word<std::uint32_t>(registers[offset / 4]);
  }
};

static_assert(std::is_trivial_v<nic_port>);

}  // namespace gnstor::fw

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
};

/// A port of an emulated NIC: registers, one ring each way, a generator and sinks on its wire.
struct nic_port {
  static constexpr std::uint32_t register_bytes = 0x8000;

  std::uint32_t registers[register_bytes / 4];
  ring_position receive;
  ring_position transmit;
  std::uint32_t listens;   ///< somebody has opened the receive ring: the generator may begin
  std::uint64_t sequence;  ///< the generator's next number
  std::uint32_t copies;    ///< of it that were delivered
  std::uint64_t in_due;    ///< when the wire is free for the next frame to come: `wire_rate`
  std::uint64_t out_due;   ///< likewise for the next one to leave
  nic_counters counters;
  frame_sinks sinks;

  GNSTOR_HD bool is_listening() { return system_word<std::uint32_t>(listens).load(acquire) != 0; }
  GNSTOR_HD system_word<std::uint32_t> at(std::uint32_t offset) {
    return system_word<std::uint32_t>(registers[offset / 4]);
  }
};

static_assert(std::is_trivial_v<nic_port>);

}  // namespace gnstor::fw

#pragma once
/// How tests run a packet rig: to its end, or stopped in the middle.

#include "packet_rig.hpp"

#include <cstdint>
#include <string>

namespace gnstor::test {

/// A wire that does everything to some frames.
constexpr fw::wire_faults bad_wire(std::uint64_t seed) {
  return {.seed = seed,
          .lost = 50,
          .duplicated = 50,
          .damaged = 50,
          .miscounted = 50,
          .runts = 50,
          .oversize = 50,
          .late = 300};
}

/// Forwards all frames. What went wrong, or nothing.
template <class Model = fw::nic_82599>
std::string forward(const packet_rig_shape& shape, host::options chosen) {
  rig_of<Model> rig(shape);
  const std::string thrown = rig.run(chosen, forward_all{});
  return thrown.empty() ? rig.fault_of_forwarding() : thrown;
}

/// Stops a path from the CPU after a while.
struct stop_after {
  template <class Lane>
  GNSTOR_HD void operator()(Lane&, std::uint32_t* stop, std::uint64_t wait_ns) const {
    for (until wait{simt::within(wait_ns)}; wait;) {
    }
    system_word<std::uint32_t>(*stop).store(1, release);
  }
};

/// Runs a path and stops it after `wait_ns`. What was thrown, or nothing.
inline std::string run_until(packet_rig& rig, host::options chosen, std::uint64_t wait_ns) {
  return rig.run(chosen, forward_all{}, [&](host::executor& machine) {
    machine.spawn_in(simt::domain::cpu, 1, 1, stop_after{}, rig.control().stop, wait_ns);
  });
}

/// Stops a path in the middle: what it had was sent, and every buffer is home.
inline std::string fault_of_stopping(packet_rig_shape shape, host::options chosen) {
  shape.frames = 1'000'000;
  packet_rig rig(shape);
  const std::string thrown = run_until(rig, chosen, 1'000 + chosen.seed * 2'000);
  if (!thrown.empty()) return thrown;
  const std::string fault = rig.fault_but_for_the_rest();
  if (!fault.empty()) return fault;
  return rig.count(packet_cause::unsent) + rig.count(packet_cause::stuck) == 0 ? "" : "unsent";
}

/// Stops a path whose NIC sends nothing: it gives everything back.
/// @param full how often the transmit ring had no room is added to it
inline std::string fault_of_stalling(packet_rig_shape shape, host::options chosen,
                                     std::uint64_t& full) {
  shape.drain_ns = 1'000'000;
  packet_rig rig(shape);
  rig.pause_transmit();
  const std::string thrown = run_until(rig, chosen, 200'000);
  if (!thrown.empty()) return thrown;
  const std::string fault = rig.fault_but_for_the_rest();
  if (!fault.empty()) return fault;
  full += rig.count(packet_cause::ring_full);
  return rig.count(packet_cause::unsent) == rig.count(packet_cause::received) ? "" : "not all";
}

}  // namespace gnstor::test

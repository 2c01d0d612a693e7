#pragma once
/// A wire on which given frames come, and which keeps those that go.

#include "packet_rig.hpp"
#include "reference_host.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace gnstor::test {

/// What is on the wire of a port: frames that come, in order, and those that went.
struct scripted_line {
  std::vector<frame_bytes> coming;
  std::size_t next = 0;
  std::vector<frame_bytes> gone;
  std::uint32_t tries = 1;  ///< that each of those takes
  std::uint32_t tried = 0;
};

struct scripted_wire {
  scripted_line* line;

  fw::wire_arrival look() const {
    fw::wire_arrival a;
    if (line->next == line->coming.size()) return a;
    a.what = fw::wire_arrival::kind::frame;
    a.bytes = static_cast<std::uint32_t>(line->coming[line->next].size());
    return a;
  }
  void write(const fw::wire_arrival& a, unsigned char* to) const {
    if (a.bytes != 0) std::memcpy(to, line->coming[line->next].data(), a.bytes);
  }
  void pass(const fw::wire_arrival&, bool) const { ++line->next; }
  bool send(const unsigned char* from, std::uint32_t bytes) const {
    if (++line->tried % line->tries != 0) return false;
    line->gone.emplace_back(from, from + bytes);
    return true;
  }
};

struct scripted_wires {
  scripted_line* lines;
  scripted_wire operator()(const fw::nic_node&, std::uint32_t port) const { return {lines + port}; }
  void rest(std::uint32_t quiet) const { simt::pause(quiet); }
};

/// Stops a path when it has received so many frames, good and bad.
struct stop_when_received {
  template <class Lane>
  GNSTOR_HD void operator()(Lane&, packet_control* control, std::uint64_t frames) const {
    const auto received = [control] {
      return control->counters.read(packet_cause::received) +
             control->counters.read(packet_cause::bad_length);
    };
    for (until wait{simt::within(std::uint64_t{20'000'000'000})}; wait;) {
      if (received() >= frames) break;
    }
    system_word<std::uint32_t>(*control->stop).store(1, release);
  }
};

/// Gives what is on the lines of a rig's ports to an application, until all has been received.
/// What went wrong, or nothing.
/// @param beside adds further grids: `beside(executor)`
template <class Rig, class App, class Beside = nothing_beside>
std::string run_script(Rig& rig, host::options chosen, const App& app, scripted_line (&lines)[2],
                       const Beside& beside = {}) {
  const std::uint64_t count = lines[0].coming.size();
  const std::string thrown = rig.run(
      chosen, app,
      [&](host::executor& machine) {
        machine.spawn_in(simt::domain::cpu, 1, 1, stop_when_received{}, &rig.control(), count);
        beside(machine);
      },
      scripted_wires{lines});
  return thrown.empty() ? rig.fault_but_for_the_rest() : thrown;
}

/// How two lists of frames differ, or nothing.
inline std::string difference(const std::vector<frame_bytes>& seen,
                              const std::vector<frame_bytes>& expected) {
  for (std::size_t k = 0; k < seen.size() && k < expected.size(); ++k) {
    if (seen[k] != expected[k]) return "frame " + std::to_string(k) + " is another one";
  }
  if (seen.size() == expected.size()) return {};
  return std::to_string(seen.size()) + " frames, not " + std::to_string(expected.size());
}

}  // namespace gnstor::test

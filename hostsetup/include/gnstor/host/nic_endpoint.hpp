#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gnstor::host {

/// An Ethernet controller: of this machine's bus, `eth://0000:02:00.0,...?name=value&...`, or one
/// that is emulated in this process, `emu-nic:?name=value&...`, also with interfaces of Linux on
/// its wires, `tap:NAME,...?name=value&...`, or captures, `pcap:FILE,...?name=value&...`.
///
/// `nic` opens it. Behind each port of `emu-nic:` whose frames are received is a generator of
/// numbered frames, and behind each port a sink that knows them again. docs/packets.md and
/// docs/packet-peers.md show the options.
struct nic_endpoint {
  enum class model_kind : std::uint8_t {
    intel_82599,  ///< advanced descriptors
    intel_82574,  ///< extended ones
  };
  enum class runner_kind : std::uint8_t {
    automatic,  ///< blocks of the GPU where kernels run on one, else lanes of their executor; with
                ///< taps or captures a CPU thread
    cpu,        ///< a CPU thread
    gpu,        ///< a block per ring, beside the kernels; also in their host executor
    simulated,  ///< lanes of the kernels' own host executor
  };

  model_kind model = model_kind::intel_82599;
  std::uint32_t ports = 2;
  std::vector<std::string> functions;  ///< of each port on the bus, as the kernel writes them;
                                       ///< empty: it is emulated
  bool promiscuous = false;            ///< of one on the bus: it receives frames for any address
  std::vector<std::string> taps;       ///< the interface of each port; empty: generators and sinks
  std::vector<std::string> captures;   ///< the file that each port's wire plays, "-" for none;
                                       ///< empty: another wire
  std::string capture;                 ///< file for what port 0 sends; port k's is FILE.k; or none
  std::uint64_t repeat = 1;            ///< how often captures are played
  std::uint32_t queues = 1;            ///< ring pairs of each port, over which RSS spreads frames
  std::uint32_t flows = 0;          ///< 5-tuples of each generator's frames; 0: of each frame one
  std::uint32_t depth = 512;        ///< descriptors of a ring, unless a path says otherwise
  std::uint64_t frames = 10'000;    ///< that each generator makes
  std::uint32_t frame_bytes = 0;    ///< of each, without the check sequence; 0: drawn
  std::uint32_t loops = 0;          ///< a bit per port: its wire brings back what it sends
  std::uint32_t gbits = 0;          ///< Gbit/s of each wire, each way; 0: as fast as can be
  std::uint32_t patience_ms = 500;  ///< until frames are given up of which none comes out
  std::uint64_t seed = 1;           ///< of what is drawn
  bool sends_anywhere = false;      ///< generators: to any address, not to 10.128.0.0/9 alone
  bool drops_when_full = false;     ///< frames without a descriptor are missed; else they wait
  std::uint32_t lost = 0;           ///< of 1,024 frames, as the other shares
  std::uint32_t duplicated = 0;
  std::uint32_t damaged = 0;
  std::uint32_t miscounted = 0;
  std::uint32_t runts = 0;
  std::uint32_t oversize = 0;
  std::uint32_t late = 0;
  runner_kind runner = runner_kind::automatic;

  /// True if it begins as such an endpoint does, right or wrong.
  static bool is_meant_by(std::string_view text);
  /// Throws `input_error` that names what is wrong and what exists.
  static nic_endpoint parse(std::string_view text);
};

}  // namespace gnstor::host

#pragma once

#include <gnstor/wire/ethernet/frame_limits.hpp>
#include <gnstor/wire/ethernet/mac_address.hpp>

#include <cstdint>
#include <string>

namespace gnstor::tools {

/// What the user of `gnstor-perf packets` asks for.
struct packet_options {
  std::string what = "forward";                           ///< or receive, send, exchange
  std::string endpoint;                                   ///< empty: `usual_endpoint`
  std::uint32_t bytes = wire::ethernet::min_frame_bytes;  ///< of a frame, without check sequence
  std::uint32_t seconds = 5;
  std::uint32_t queues = 0;        ///< ring pairs of each port; 0: as the endpoint says
  std::uint32_t depth = 0;         ///< 0: 32 on a CPU, whose lanes take turns; 512 on a GPU
  std::uint32_t turn = 0;          ///< 0: 128, or half of the depth
  std::uint32_t buffers = 0;       ///< 0: four of each descriptor
  std::uint32_t buffer_bytes = 0;  ///< 0: 2048, or as many KiB as `bytes` needs
  std::string to;       ///< hardware address that frames are sent to; empty: 02:00:00:00:01:PORT
  std::string metrics;  ///< HOST:PORT for Prometheus; empty: nowhere
  std::string json;     ///< file; "-": standard output
  bool quiet = false;

  bool receives() const { return what != "send"; }
  bool sends() const { return what == "send" || what == "exchange"; }
  /// `buffer_bytes`, or what frames of that size need.
  std::uint32_t used_buffer_bytes() const;
  std::string usual_endpoint() const;
  /// The endpoint, and what the generators of an emulated NIC are to do where it does not say.
  std::string full_endpoint() const;
  bool is_emulated() const { return full_endpoint().starts_with("emu-nic:"); }
  /// `to`, or the usual one. Throws `host::input_error`.
  wire::ethernet::mac_address to_address(std::uint32_t port) const;
};

}  // namespace gnstor::tools

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gnstor::host {

/// Memory of a peer that kernels read and write by RDMA, as an endpoint names it.
///
/// `memory://HOST[:PORT]/NAME[?secret=FILE]` is a region that a `gnstor-memory` server exports;
/// `emu-memory:?bytes=64M` is one of this process behind an emulated NIC. `remote_memory` opens
/// both; docs/endpoints.md shows the options.
struct memory_endpoint {
  static constexpr std::uint16_t default_port = 4421;

  std::string host;  ///< empty: emulated
  std::uint16_t port = default_port;
  std::string name;           ///< of the region
  std::string secret;         ///< file of what its server wants to hear; empty: nothing
  std::uint64_t bytes = 0;    ///< of an emulated region
  std::optional<int> gpu;     ///< in whose memory it lies; else in pinned host memory
  std::uint32_t workers = 0;  ///< copy workers of the emulated NIC; 0: by the machine
  std::uint32_t lanes = 1;    ///< of each of its warps on the host runtime, 1 to 32

  bool emulated() const { return host.empty(); }

  /// True if `text` names such memory, right or wrong, and not an array.
  static bool is_meant_by(std::string_view text);
  /// Throws `input_error` that names what is wrong and what exists.
  static memory_endpoint parse(std::string_view text);
};

}  // namespace gnstor::host

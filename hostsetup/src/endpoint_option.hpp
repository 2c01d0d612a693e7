#pragma once

#include <gnstor/host/disk_endpoint.hpp>
#include <gnstor/host/endpoint.hpp>
#include <gnstor/host/mapped_endpoint.hpp>
#include <gnstor/host/memory_endpoint.hpp>
#include <gnstor/host/nic_endpoint.hpp>
#include <gnstor/host/nvme_endpoint.hpp>
#include <gnstor/host/pcie_endpoint.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gnstor::host {

/// What may stand behind an option's `=`.
struct option_syntax {
  enum class kind : std::uint8_t { number, size, word, text };
  kind what = kind::text;
  std::uint64_t low = 0, high = 0;      ///< of a number or a size, both included
  std::vector<std::string_view> words;  ///< one of these
  std::string_view stands_for;          ///< "DIR": a text in a usage line

  static option_syntax number(std::uint64_t low, std::uint64_t high) {
    return {kind::number, low, high, {}, {}};
  }
  static option_syntax size(std::uint64_t low, std::uint64_t high) {
    return {kind::size, low, high, {}, {}};
  }
  static option_syntax one_of(std::initializer_list<std::string_view> words) {
    return {kind::word, 0, 0, words, {}};
  }
  static option_syntax text(std::string_view stands_for) {
    return {kind::text, 0, 0, {}, stands_for};
  }

  /// "N", "SIZE", "yes|no", "DIR".
  std::string usage() const;
};

/// Where an option belongs in what is said of it.
enum class option_use : std::uint8_t {
  deployment,  ///< what the array is, and where
  emulation,   ///< how it is emulated, for measurements and tests
  connection,  ///< to a subsystem behind a network
  managing,    ///< by whoever manages the array
  mapping,     ///< of memory that kernels reach themselves
  exporting,   ///< of memory of this process, as a peer's
  granting,    ///< to memory that a server exports
  local,       ///< of a local NVMe controller that is emulated
  disk,        ///< of a disk that Linux reads and writes
  bus,         ///< of one on this machine's bus
  lent,        ///< of one that a daemon lends
  packets,     ///< of an Ethernet controller that is emulated
  taps,        ///< of one whose wires are interfaces of Linux
  captures,    ///< of one whose wires are capture files
  ethernet,    ///< of one on this machine's bus
};

/// An option's value after its syntax was checked.
struct option_value {
  std::uint64_t number = 0;  ///< the number, the bytes, or the index of the word
  std::string_view text;     ///< as it was written
};

/// All that there is to know of one endpoint option: parser, help, error texts and
/// docs/endpoints.md come from it.
/// @tparam Endpoint `endpoint`, `nvme_endpoint`, `disk_endpoint`, `pcie_endpoint`, `homi_endpoint`,
/// `rdma_endpoint`, `control_endpoint`, `mapped_endpoint`, `memory_endpoint` or `nic_endpoint`
template <class Endpoint>
struct endpoint_option {
  std::string_view name;
  option_use use;
  option_syntax syntax;
  std::string_view fallback;  ///< what holds without it: a value, or words in parentheses
  std::string_view meaning;   ///< one or two sentences
  void (*apply)(Endpoint&, const option_value&);
};

/// The options of `emu:`, of `emu-nvme:`, of `disk:`, of `nvme://`, of `homi:`, of `rdma://`, of
/// `gnstor://` beside those, of `host:` and `file:`, of `emu-memory:`, of `memory://`, of
/// `emu-nic:`, of `tap:` and of `eth://`, in the order in which they are explained.
std::span<const endpoint_option<endpoint>> emulated_options();
std::span<const endpoint_option<nvme_endpoint>> nvme_options();
std::span<const endpoint_option<disk_endpoint>> disk_options();
std::span<const endpoint_option<pcie_endpoint>> pcie_options();
std::span<const endpoint_option<homi_endpoint>> homi_options();
std::span<const endpoint_option<rdma_endpoint>> rdma_options();
std::span<const endpoint_option<control_endpoint>> control_options();
std::span<const endpoint_option<mapped_endpoint>> mapping_options();
std::span<const endpoint_option<memory_endpoint>> memory_options();
std::span<const endpoint_option<memory_endpoint>> granted_options();
std::span<const endpoint_option<nic_endpoint>> nic_endpoint_options();
std::span<const endpoint_option<nic_endpoint>> tap_options();
std::span<const endpoint_option<nic_endpoint>> pcap_options();
std::span<const endpoint_option<nic_endpoint>> ethernet_options();

}  // namespace gnstor::host

#pragma once

#include <gnstor/wire/ethernet/mac_address.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gnstor::host {

/// A station of the wire that a router sends to.
struct neighbour {
  std::uint32_t address = 0;
  wire::ethernet::mac_address hardware{};
};

/// Stations, one for each address.
class neighbour_list {
 public:
  /// Throws `input_error` for a second hardware address of the same one, and for a group's.
  void add(const neighbour& n);

  /// Reads lines of `ip neigh show` ("192.0.2.1 dev eth0 lladdr 02:00:00:00:00:01 REACHABLE") or
  /// "ADDRESS HARDWARE_ADDRESS"; those without a hardware address and those of IPv6 are left out,
  /// and what is behind #. Throws `input_error` with file, line, what is wrong, and the remedy.
  static neighbour_list read(const std::string& path);
  /// The same from memory.
  static neighbour_list parse(std::string_view text, std::string_view name);

  const std::vector<neighbour>& all() const { return all_; }

 private:
  std::vector<neighbour> all_;
  std::unordered_map<std::uint32_t, std::size_t> places_;
};

}  // namespace gnstor::host

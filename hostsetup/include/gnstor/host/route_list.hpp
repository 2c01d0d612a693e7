#pragma once

#include <gnstor/host/route.hpp>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gnstor::host {

/// Routes that are drawn rather than read: as many, and with about the prefix lengths, as a table
/// of the Internet has. GPU-Ether, section V.B.
struct drawn_routes {
  std::uint32_t count = 474'319;     ///< prefixes, at most 4,000,000, beside the default route
  std::uint32_t long_permille = 20;  ///< of these, longer than /24
  std::uint32_t gateways = 64;       ///< 198.18.0.1 and the following, at most 32,000
  bool has_default = true;           ///< via the first one
  std::uint64_t seed = 1;
};

/// IPv4 routes, one for each prefix. What `route_table` is made from.
class route_list {
 public:
  /// Of two routes of one prefix the one with the lower metric stays. Throws `input_error` for a
  /// prefix that is none, and for a second one of the same metric.
  void add(const route& r);

  /// Reads lines of `ip route show` ("10.0.0.0/8 via 192.0.2.1 dev eth0 metric 100",
  /// "192.0.2.0/24 dev eth0", "blackhole 10.1.0.0/16") or "PREFIX GATEWAY"; what is behind # is
  /// ignored. Throws `input_error` with file, line, what is wrong there, and the remedy.
  static route_list read(const std::string& path);
  /// The same from memory.
  /// @param name for messages
  static route_list parse(std::string_view text, std::string_view name);
  /// Draws them. Throws `input_error` for numbers beyond `drawn_routes`' limits.
  static route_list draw(const drawn_routes& how);

  const std::vector<route>& all() const { return routes_; }
  /// The route of an address, looked for length by length: to see what a table should say. Null if
  /// there is none. Valid until the next `add`.
  const route* find(std::uint32_t address) const;

 private:
  static std::uint64_t key(std::uint32_t prefix, std::uint8_t length) {
    return std::uint64_t{prefix} << 8 | length;
  }

  std::vector<route> routes_;
  std::unordered_map<std::uint64_t, std::size_t> places_;
};

}  // namespace gnstor::host

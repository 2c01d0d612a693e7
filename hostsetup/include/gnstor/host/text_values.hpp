#pragma once
/// Values that users write: numbers, sizes, addresses. One reader each, for endpoints, tools and
/// examples.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gnstor::host {

/// A decimal number and nothing else: no sign, no space. Empty if `text` is none, or too large.
inline std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

/// A number of bytes; with K, M, G or T behind it, each 1024 of the one before. Empty if `text` is
/// none, or 64 bits do not hold it.
inline std::optional<std::uint64_t> parse_size(std::string_view text) {
  unsigned shift = 0;
  if (!text.empty()) {
    const auto unit = std::string_view("KMGT").find(text.back());
    if (unit != std::string_view::npos) {
      shift = 10 * (static_cast<unsigned>(unit) + 1);
      text.remove_suffix(1);
    }
  }
  const std::optional<std::uint64_t> count = parse_number(text);
  if (!count || *count > std::numeric_limits<std::uint64_t>::max() >> shift) return {};
  return *count << shift;
}

/// A host and, where one was given, a port.
struct host_port {
  std::string host;  ///< a name, an IPv4 address, or an IPv6 one without its brackets
  std::optional<std::uint16_t> port;
};

/// "HOST", "HOST:PORT", "[IPV6]" or "[IPV6]:PORT". Empty if `text` is none of these: an IPv6
/// address needs its brackets, a port is 1 to 65535.
inline std::optional<host_port> parse_host_port(std::string_view text) {
  std::string_view host = text.substr(0, text.find(':'));
  std::string_view rest = text.substr(host.size());
  if (text.starts_with('[')) {
    const auto bracket = text.find(']');
    if (bracket == std::string_view::npos) return {};
    host = text.substr(1, bracket - 1);
    rest = text.substr(bracket + 1);
  }
  if (host.empty() || host.front() == '[') return {};
  if (rest.empty()) return host_port{std::string(host), {}};
  if (rest.front() != ':') return {};
  const std::optional<std::uint64_t> port = parse_number(rest.substr(1));
  if (!port || *port == 0 || *port > 65'535) return {};
  return host_port{std::string(host), static_cast<std::uint16_t>(*port)};
}

/// The texts between commas; those that are empty are among them.
inline std::vector<std::string> between_commas(std::string_view text) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    all.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

}  // namespace gnstor::host

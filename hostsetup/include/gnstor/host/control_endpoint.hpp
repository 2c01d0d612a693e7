#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gnstor::host {

/// What a `gnstor://` endpoint names: the daemon that manages an array. It says where the array's
/// data is, and volumes are opened by it.
///
/// `gnstor://HOST[:PORT][,HOST[:PORT]...][/ARRAY]?name=value&...`; an IPv6 address stands in
/// brackets. Several are daemons that stand by for each other: the one that leads is found. With
/// ARRAY a daemon whose array has another name (`gnstord --name`) is refused, when the session is
/// opened. Its options are the last three members, and those of `rdma://` for the connection with
/// the data. A program that uses it links `gnstor::control`.
struct control_endpoint {
  /// Of the connection with the data, unless its option says otherwise: a writer that is cut off
  /// loses its rights soon.
  static constexpr std::uint32_t default_keep_alive_ms = 1000;

  std::string host;
  std::uint16_t port = 4422;
  std::string others;       ///< HOST:PORT,... of those that stand by; empty: there is one
  std::string array;        ///< name that the daemon's array must have; empty: any
  std::string certificate;  ///< file in PEM: by which this host proves that it is `host:NAME`
  std::string key;          ///< file in PEM: of that certificate
  std::string authority;    ///< file in PEM: who signs the daemon's; empty: no TLS

  /// True of what an array may be called: letters, digits, '.', '_' and '-', 1 to 64 of them.
  static constexpr bool is_array_name(std::string_view name) {
    for (const char c : name) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (!letter && !(c >= '0' && c <= '9') && c != '.' && c != '_' && c != '-') return false;
    }
    return !name.empty() && name.size() <= 64;
  }
  /// HOST:PORT, with an IPv6 address in brackets; several with commas between them.
  std::string server() const {
    const bool bare = host.find(':') == std::string::npos;
    return (bare ? host : '[' + host + ']') + ':' + std::to_string(port) +
           (others.empty() ? "" : ',' + others);
  }
};

}  // namespace gnstor::host

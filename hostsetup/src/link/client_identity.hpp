#pragma once

#include <gnstor/core/hash.hpp>
#include <gnstor/core/units.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace gnstor::host {

/// Who a host is to a target: what Fabrics Connect carries, and the client id that follows from it
/// as long as no daemon hands ids out.
struct client_identity {
  std::string nqn;
  std::uint8_t hostid[16] = {};
  /// Of one session of the host alone, as whom it writes; 0: it is the host and no more.
  client_id session{};

  /// The identity of a session that calls itself `name`: the same name is the same host.
  static client_identity named(std::string_view name) {
    client_identity who;
    who.nqn = "nqn.2026-11.io.gnstor:host:" + std::string(name);
    const std::uint64_t low = hash(who.nqn);
    const std::uint64_t high = mix64(low + 1);
    std::memcpy(who.hostid, &low, sizeof low);
    std::memcpy(who.hostid + 8, &high, sizeof high);
    return who;
  }

  /// The NQN of the host that `name` means: `name` itself where it is one.
  static std::string nqn_of(std::string_view name) {
    return name.starts_with("nqn.") ? std::string(name) : named(name).nqn;
  }

  /// The client id that a host with this NQN has unless another one had it first; never 0.
  static client_id client_of(std::string_view nqn) {
    return client_id(static_cast<std::uint16_t>(1 + hash(nqn) % 65535));
  }
  client_id client() const { return client_of(nqn); }
  /// By what volumes know the host with this NQN as their owner; never 0.
  static std::uint64_t key_of(std::string_view nqn) {
    return std::max<std::uint64_t>(mix64(hash(nqn) ^ 0x6f776e6572), 1);
  }

 private:
  static std::uint64_t hash(std::string_view text) {
    std::uint64_t h = 0;
    for (const char c : text) h = mix64(h + static_cast<unsigned char>(c) + 1);
    return h;
  }
};

}  // namespace gnstor::host

#pragma once

#include <gnstor/core/units.hpp>
#include <gnstor/simt/atomic_ref.hpp>

#include <type_traits>

namespace gnstor::fw {

/// Who a host is: what a `known_host` says.
struct host_seen {
  std::uint64_t hostid[2] = {};  ///< its 16 bytes
  std::uint64_t key = 0;
  client_id client{};
  client_id host{};  ///< of the whole host, where `client` is a session's; else the same
  std::uint16_t controller = 0;
  std::uint32_t manager = 0;
};

/// A place for a host the array admits, and the client id its associations are bound to. The daemon
/// tells the target; meanwhile the firmware may be reading any place.
struct known_host {
  std::uint64_t hostid[2] = {};
  std::uint64_t key = 0;       ///< by which volumes know their owner: made of its NQN
  std::uint32_t admitted = 0;  ///< set last, to what it never was before; 0 when the host has left
  std::uint32_t client = 0;    ///< bits 31:16: that of its whole host, for a session; 0: the same
  std::uint32_t controller = 0;
  /// 1: it may do what is nobody else's, such as change an owner. 2: it does so under a term, and
  /// as long as it is there nobody else changes volumes.
  std::uint32_t manager = 0;

  static constexpr std::uint32_t may_manage = 1;
  static constexpr std::uint32_t manages = 2;

  /// False if no host is in this place, or the one that was left meanwhile. Each word is stored
  /// with release: who sees one of the next host's sees that the former one left.
  GNSTOR_HD bool read(host_seen& to) {
    const device_word<std::uint32_t> life(admitted);
    const std::uint32_t before = life.load(acquire);
    if (before == 0) return false;
    for (std::uint32_t k = 0; k < 2; ++k)
      to.hostid[k] = device_word<std::uint64_t>(hostid[k]).load(acquire);
    to.key = device_word<std::uint64_t>(key).load(acquire);
    const std::uint32_t ids = device_word<std::uint32_t>(client).load(acquire);
    to.client = client_id(static_cast<std::uint16_t>(ids));
    to.host = client_id(static_cast<std::uint16_t>(ids >> 16 != 0 ? ids >> 16 : ids));
    to.controller =
        static_cast<std::uint16_t>(device_word<std::uint32_t>(controller).load(acquire));
    to.manager = device_word<std::uint32_t>(manager).load(acquire);
    return life.load(relaxed) == before;
  }
};

static_assert(std::is_trivially_copyable_v<known_host> && sizeof(known_host) == 40);

}  // namespace gnstor::fw

#pragma once

#include <gnstor/core/units.hpp>

#include <type_traits>

namespace gnstor::fw {

/// A host the array admits, and the client id its associations are bound to. The daemon tells the
/// target.
struct known_host {
  std::uint8_t hostid[16] = {};
  std::uint64_t key = 0;       ///< by which volumes know their owner: made of its NQN
  std::uint32_t admitted = 0;  ///< set last; 0 again when it has left
  client_id client{};
  std::uint16_t controller = 0;
  /// 1: it may do what is nobody else's, such as change an owner. 2: it does so under a term, and
  /// as long as it is there nobody else changes volumes. Atomic.
  std::uint32_t manager = 0;

  static constexpr std::uint32_t may_manage = 1;
  static constexpr std::uint32_t manages = 2;
};

static_assert(std::is_trivially_copyable_v<known_host> && sizeof(known_host) == 40);

}  // namespace gnstor::fw

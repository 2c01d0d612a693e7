#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gnstor::wire::afa {

/// What a session of a managed array says when it connects: which of its host's sessions it is, so
/// that the array gives it a client id of its own to write by. All zero: it is its host and no
/// more, as hosts of others are.
struct session_claim {
  std::uint64_t number;  ///< drawn when the session was opened, never again; 0: this claims nothing
  std::uint16_t client;  ///< the id that it has had, where it comes back; 0: it comes first
  std::uint16_t reserved10;
  std::uint32_t reserved12;
};

static_assert(sizeof(session_claim) == 16 && std::is_trivial_v<session_claim>);
static_assert(offsetof(session_claim, client) == 8);

}  // namespace gnstor::wire::afa

#pragma once

#include <gnstor/core/units.hpp>
#include <gnstor/wire/afa/session_claim.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace gnstor::serve {

/// Who is at the other end of an association.
struct host_identity {
  std::string nqn;
  std::array<std::uint8_t, 16> id{};
  client_id client{};  ///< under which the array knows it, once it has joined

  std::string address;                 ///< where its connection comes from; empty: not known
  wire::afa::session_claim session{};  ///< which of the host's sessions it is, if it is one

  bool is(const host_identity& other) const { return nqn == other.nqn && id == other.id; }
};

}  // namespace gnstor::serve

#pragma once

#include "host_identity.hpp"
#include <gnstor/wire/afa/connect_claims.hpp>

#include <algorithm>
#include <cstring>

namespace gnstor::host::fabrics {

/// The data of a Connect: who wants to talk to which subsystem. The names have been checked.
inline wire::fabrics::connect_data make_connect_record(
    const host_identity& host, const std::string& subsystem, std::uint16_t controller,
    const wire::afa::connect_claims& claims = {}) {
  wire::fabrics::connect_data data{};
  std::copy(host.id.begin(), host.id.end(), data.hostid);
  data.cntlid = controller;
  subsystem.copy(data.subnqn, wire::fabrics::max_nqn_bytes);
  host.nqn.copy(data.hostnqn, wire::fabrics::max_nqn_bytes);
  std::memcpy(data.reserved768, &claims, sizeof claims);
  return data;
}

}  // namespace gnstor::host::fabrics

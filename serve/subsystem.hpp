#pragma once

#include "volume_store.hpp"
#include <gnstor/wire/fabrics/discovery_header.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gnstor::serve {

/// What a subsystem is for.
enum class subsystem_kind : std::uint8_t {
  discovery,  ///< tells hosts which subsystems there are
  array,      ///< GNStor's own clients: SLBA packing, VOLUME commands
  volume,     ///< one volume as a plain namespace
};

inline constexpr std::string_view discovery_nqn = wire::fabrics::discovery_nqn;

/// The id of a volume subsystem's one namespace.
inline constexpr std::uint32_t only_namespace = 1;

/// One NVM subsystem that the target offers.
struct subsystem {
  std::string nqn;
  subsystem_kind kind = subsystem_kind::discovery;
  std::vector<std::string> hosts;       ///< host NQNs that may connect; empty: all
  std::shared_ptr<volume_store> store;  ///< of a volume subsystem

  bool allows(std::string_view host_nqn) const {
    if (hosts.empty()) return true;
    for (const std::string& h : hosts) {
      if (h == host_nqn) return true;
    }
    return false;
  }
};

}  // namespace gnstor::serve

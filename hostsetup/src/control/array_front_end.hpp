#pragma once

#include <gnstor/core/units.hpp>
#include <gnstor/wire/afa/traffic_list.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gnstor::host {

/// A host that an array's front end knows: it is connected, or may be about to connect again.
struct connected_host {
  client_id client{};  ///< as whom the array knows it
  std::string nqn;
  std::string address;             ///< where it connects from; empty: not known
  std::uint32_t associations = 0;  ///< that live
  std::uint32_t life = 0;          ///< another number each time that the host comes anew
};

/// What stands before an array's SSDs: whose commands it lets through, and who is connected.
class array_front_end {
 public:
  virtual ~array_front_end() = default;
  /// Refuses an SSD's I/O from now on, or no longer. Throws `io_error` with what the front end
  /// said, `error` where it said nothing.
  /// @param term of the manager that orders this
  virtual void detach(std::uint32_t ssd, bool detached, std::uint64_t term) = 0;
  /// The hosts that it knows. Throws as `detach` does.
  struct connected {
    std::chrono::milliseconds serving{};  ///< how long it has: hosts need time to come back
    std::vector<connected_host> hosts;    ///< in order of their client ids
  };
  virtual connected hosts() = 0;
  /// What hosts have had it do with each volume, in order of VID. Throws as `detach` does.
  virtual std::vector<wire::afa::traffic_record> traffic() = 0;
};

}  // namespace gnstor::host

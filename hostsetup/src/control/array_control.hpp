#pragma once

#include "array_state.hpp"
#include <gnstor/host/array_health.hpp>
#include <gnstor/host/control_error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gnstor::host {

/// What a new volume should be.
struct new_volume {
  wire::afa::volume_name name{};
  wire::afa::volume_labels labels{};
  std::uint64_t capacity_blocks = 0;
  std::uint16_t replicas = 2;
  std::uint32_t stripe_blocks = 16;
  std::uint64_t owner = 0;  ///< as in `volume_record`
};

/// What one host asks of an array's manager: the volumes, and its rights to them. Sessions and
/// targets of an array that has a manager ask by this, and send the SSDs no VOLUME commands.
///
/// Models: `manager_control`, a manager in this process, and `daemon_control`, one behind gRPC. Any
/// thread may call. Each call throws `control_error`; nothing has changed then, unless that says
/// otherwise.
class array_control {
 public:
  virtual ~array_control() = default;

  /// Has this host be one session of it alone: whatever it opens for writing from now on it writes
  /// by this id, which the array has given it.
  virtual void writes_as(client_id session) = 0;

  /// The volumes that this host may open, in order of VID.
  virtual std::vector<volume_state> volumes() = 0;
  virtual volume_state find(volume_id vid) = 0;
  virtual volume_state find(const std::string& name) = 0;
  /// Creates a volume that this host owns, whatever `wanted.owner` says, and may read.
  virtual volume_state create(const new_volume& wanted) = 0;
  /// Lets this host read a volume, or also write it while its lease lasts.
  virtual volume_state open(volume_id vid, bool write) = 0;
  /// Extends a write lease. `lost_lease`: it has ended, and may have gone to another host.
  virtual volume_state renew(volume_id vid) = 0;
  /// Gives the host's rights back, and leaves it admitted. No write of its is under way.
  /// @param clean every one was acknowledged, so that all replicas are equal
  virtual void close(volume_id vid, bool clean) = 0;
  virtual void remove(volume_id vid) = 0;
  virtual void rename(volume_id vid, const wire::afa::volume_name& name) = 0;
  /// Gives a volume more blocks, which read as zeroes.
  virtual void grow(volume_id vid, std::uint64_t capacity_blocks) = 0;
  /// Lets another host open a volume from now on, or no longer.
  /// @param host its NQN, or the name that its sessions connect by
  virtual void share(volume_id vid, const std::string& host, bool allowed) = 0;

  virtual array_health health() = 0;

  /// Says that an SSD does not serve this host: the manager looks at it at once, and judges by what
  /// it sees itself. @param ssd nothing: some SSD @param words how it fails
  virtual void report(std::optional<std::uint32_t> ssd, const std::string& words) = 0;
};

}  // namespace gnstor::host

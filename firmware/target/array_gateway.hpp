#pragma once

#include <gnstor/core/units.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>
#include <target/host_identity.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace gnstor::fw {

/// The array behind the target, as GNStor's own clients reach it: each command is executed under
/// the identity bound at Connect.
///
/// Any thread may call; a call returns when the array has answered. Statuses are NVMe status
/// fields. The data pointer of `entry` is not looked at: the data is `payload`.
class array_gateway {
 public:
  virtual ~array_gateway() = default;

  virtual std::uint32_t ssds() const = 0;
  virtual std::uint32_t max_transfer_blocks() const = 0;
  /// A number for life that no other target has, as far as chance goes: what a host takes for a
  /// name (serial number, NGUID, UUID) is made with it.
  virtual std::uint64_t identity() const = 0;
  /// Makes a host known to the array as `who.client`. Joining again changes nothing. Not 0: the
  /// status of its Connect, `invalid_host` where another host goes by that client id.
  virtual std::uint16_t join(const host_identity& who) = 0;
  virtual std::uint16_t admin(client_id client, const wire::nvme::submission_entry& entry,
                              std::span<std::byte> payload) = 0;
  virtual std::uint16_t io(client_id client, const wire::nvme::submission_entry& entry,
                           std::span<std::byte> payload) = 0;
};

}  // namespace gnstor::fw

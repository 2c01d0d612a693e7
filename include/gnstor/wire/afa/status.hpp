#pragma once

#include <gnstor/wire/nvme/status.hpp>

namespace gnstor::wire::afa {

/// Why an SSD refuses a command for GNStor's own reasons: status codes of type 7h, vendor specific.
///
/// Each check of deEngine has its own code, so that a client knows what to refresh. GNStor, 4.3.
enum class status : std::uint8_t {
  unknown_volume = 0x01,       ///< the permission table has no such VID
  not_permitted = 0x02,        ///< the client lacks the right to do this to the volume
  wrong_client = 0x03,         ///< the SLBA's client is not the association's
  beyond_capacity = 0x04,      ///< a block lies past the volume's end
  wrong_ssd = 0x05,            ///< this SSD is not in the stripe's replica set
  stale_epoch = 0x06,          ///< the command's array epoch is not the SSD's
  mapping_full = 0x07,         ///< the mapping table found no slot within its relocation bound
  crosses_stripe = 0x08,       ///< the command's blocks belong to different replica sets
  volume_exists = 0x09,        ///< VOLUME ADD of a VID that differs from the one known
  too_many_volumes = 0x0a,     ///< the permission table is full
  too_many_clients = 0x0b,     ///< the volume has no room for another client
  writer_exists = 0x0c,        ///< another client holds the write right
  bad_payload_version = 0x0d,  ///< the payload's version is not understood
  bad_payload = 0x0e,  ///< a field of the payload is out of range or contradicts the command
  rebuilding = 0x0f,   ///< a read of an SSD that is being filled, or absent in the epoch
  not_owner = 0x10,    ///< only the volume's owner may do this
  name_exists = 0x11,  ///< another volume has this name
  stale_term = 0x12,   ///< another manager has taken the array over since
  managed = 0x13,      ///< the array has a manager, which alone changes volumes
};

/// The completion's status field for one of GNStor's own codes.
GNSTOR_HD constexpr std::uint16_t make_status(status code, bool dnr = false) {
  return nvme::make_status(nvme::status_code_type::vendor_specific, static_cast<std::uint8_t>(code),
                           dnr);
}

/// True if a completion's status field holds `code` of GNStor's own codes.
GNSTOR_HD constexpr bool is_status(std::uint16_t field, status code) {
  return nvme::status_type(field) ==
             static_cast<std::uint8_t>(nvme::status_code_type::vendor_specific) &&
         nvme::status_code(field) == static_cast<std::uint8_t>(code);
}

/// The code in words, for messages on the host.
constexpr const char* to_string(status code) {
  switch (code) {
    case status::unknown_volume: return "unknown volume";
    case status::not_permitted: return "client lacks the right";
    case status::wrong_client: return "client id is not the association's";
    case status::beyond_capacity: return "beyond the volume's capacity";
    case status::wrong_ssd: return "SSD is not in the replica set";
    case status::stale_epoch: return "stale array epoch";
    case status::mapping_full: return "mapping table is full";
    case status::crosses_stripe: return "command crosses a stripe";
    case status::volume_exists: return "volume exists";
    case status::too_many_volumes: return "too many volumes";
    case status::too_many_clients: return "too many clients";
    case status::writer_exists: return "another client may write";
    case status::bad_payload_version: return "unknown payload version";
    case status::bad_payload: return "bad payload";
    case status::rebuilding: return "SSD is being rebuilt";
    case status::not_owner:
      return "the volume belongs to another host, which alone deletes it and admits hosts";
    case status::name_exists: return "another volume has this name";
    case status::stale_term: return "another manager has taken the array over";
    case status::managed:
      return "the array has a manager, which alone changes volumes: open it by gnstor://";
  }
  return "unknown status";
}

}  // namespace gnstor::wire::afa

#pragma once

#include <daemon/repair_work.hpp>
#include <gnstor/wire/afa/admin_opcode.hpp>
#include <gnstor/wire/afa/array_membership.hpp>
#include <gnstor/wire/afa/stand_ins.hpp>
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <gnstor/wire/afa/volume_record.hpp>

#include <cstdint>
#include <vector>

namespace gnstor::daemon {

/// An admin command for one SSD: its opcode says which of the payloads it carries.
struct ssd_order {
  std::uint64_t id = 0;
  std::uint32_t ssd = 0;
  wire::afa::admin_opcode opcode{};
  std::uint32_t epoch = 0;  ///< CDW2
  std::uint16_t vid = 0;
  wire::afa::volume_record record{};  ///< of a DELETE its hash factor alone, unless that is 0
  wire::afa::volume_chmod chmod{};
  wire::afa::array_membership membership{};
  wire::afa::stand_ins others{};  ///< of ARRAY UPDATE
};

/// How the manager answers a request.
enum class verdict : std::uint8_t {
  done,
  unknown_volume,
  volume_exists,
  name_exists,  ///< another volume has the name
  busy,         ///< a client holds the write right and its lease, or, for a spread, the SSD that is
                ///< to join is away or being filled: try again later
  lost_lease,   ///< a renewal came too late: the right has gone to somebody else
  torn_volume,  ///< too many SSDs are away: some of its blocks are on none that is in sync
  not_admitted,  ///< the client has no right to the volume
  refused,       ///< the SSDs refuse it: too many volumes or clients
  failed,        ///< a spread: its data could not be read or written; the volume is as it was
};

/// The answer to a request.
struct reply {
  std::uint64_t request = 0;
  verdict said = verdict::done;
  std::uint64_t lease_until = 0;  ///< ns; of a granted or renewed write right
  std::uint16_t vid = 0;          ///< of the volume that it is about; 0: there is none
};

/// What the manager wants done, in order within each list.
struct orders {
  std::vector<std::uint32_t> detached;  ///< SSDs whose I/O the node must refuse from now on: first
  std::vector<std::uint32_t> attached;  ///< SSDs that serve again: before what follows
  std::vector<std::uint32_t> unfit;  ///< SSDs that were to replace others and refuse orders or fail
  std::vector<ssd_order> ssds;
  std::vector<std::uint64_t> cancelled;  ///< repairs
  std::vector<repair_order> repairs;
  std::vector<reply> replies;
};

}  // namespace gnstor::daemon

#pragma once
/// What an array's manager says of it, for whoever operates it.

#include <gnstor/core/units.hpp>
#include <gnstor/wire/afa/ssd_description.hpp>
#include <gnstor/wire/afa/volume_record.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gnstor::host {

/// How much of a volume holds data.
struct used_room {
  std::uint64_t blocks = 0;  ///< that were written and not deallocated since, each counted once
  bool exact = false;        ///< false: parts of the volume were looked at, drawn evenly
};

/// A volume, and who may write it.
struct volume_state {
  wire::afa::volume_record record{};
  client_id writer{};                                  ///< 0: nobody
  std::optional<std::chrono::nanoseconds> lease_left;  ///< of the writer's; nothing: it has none
  std::optional<used_room> used;                       ///< a while ago; nothing: not known yet
  bool degraded = false;  ///< fewer of its replicas are in sync than should be
  bool torn = false;      ///< some of its blocks may be on no SSD that is in sync
};

/// What an SSD does in the present epoch.
enum class ssd_standing : std::uint8_t {
  in_sync,  ///< it has every acknowledged write of its blocks
  filling,  ///< it takes writes, and is being given what it lacks
  absent,   ///< it has failed, or was detached: it takes part in nothing
};

/// What is to become of an SSD, volume by volume.
enum class ssd_aim : std::uint8_t {
  none,
  drain,  ///< it is being emptied, or is empty: no new volume lies on it
  join,   ///< it is being given its share of volumes that were there before it
  spare,  ///< it stands by to serve at another one's place
};

/// An SSD of the array. Blocks are of 4 KiB.
struct ssd_state {
  std::uint32_t index = 0;
  ssd_standing standing = ssd_standing::in_sync;
  bool answers = true;  ///< when it was asked last
  std::uint64_t capacity_blocks = 0;
  std::uint64_t free_blocks = 0;
  std::uint64_t moved_blocks = 0;
  std::uint32_t epoch = 0;             ///< that it knew when it was asked last
  wire::afa::ssd_description flash{};  ///< zeroes: it has not said
  /// How long it may stay out until nothing of its data counts; nothing: it does not already.
  std::optional<std::chrono::nanoseconds> maintenance_left{};
  ssd_aim aim = ssd_aim::none;
  std::uint32_t volumes = 0;       ///< that lie on it
  std::uint32_t volumes_left = 0;  ///< that are to be moved yet
  std::uint16_t waits_for = 0;     ///< VID of one of those that a host may write; 0: none
  /// The SSD at whose place it serves, or is about to; nothing: at its own.
  std::optional<std::uint32_t> stands_in_for{};
  /// The SSD that serves at its place, or is being filled to do so.
  std::optional<std::uint32_t> successor{};
  std::uint64_t reports = 0;  ///< by hosts that it does not serve, since the manager took over
};

/// A repair that is under way. Blocks are those of volumes, each counted once.
struct repair_state {
  std::string kind;
  std::uint16_t vid = 0;   ///< 0: of all volumes
  std::uint32_t ssd = 0;   ///< of what has one
  std::uint64_t done = 0;  ///< blocks looked at
  std::uint64_t total = 0;
  std::uint64_t mended = 0;  ///< blocks written
  bool waits = false;        ///< for another repair
};

/// What scrubs have found since the manager took over.
struct scrub_tally {
  std::uint64_t volumes = 0;  ///< scrubbed, each time counted
  std::uint64_t damaged = 0;  ///< blocks of which some replica was damaged
  std::uint64_t mended = 0;   ///< replicas of those
  std::uint64_t lost = 0;     ///< blocks of which every replica was damaged, each time counted
};

/// The array.
struct array_state {
  std::uint32_t epoch = 0;  ///< that every SSD in it knows
  bool settled = false;     ///< false: a take-over or a change of the epoch is under way
  std::vector<ssd_state> ssds;
  std::vector<repair_state> repairs;
  std::uint64_t capacity_blocks = 0;     ///< that volumes may hold on all SSDs together
  std::uint64_t provisioned_blocks = 0;  ///< of all volumes, each replica counted
  std::uint32_t volumes = 0;
  std::uint32_t degraded = 0;  ///< volumes with fewer replicas in sync than they should have
  scrub_tally scrubs;
  std::uint32_t torn = 0;  ///< volumes some of whose blocks may be on no SSD that is in sync
};

/// Something that happened.
struct array_event {
  std::uint64_t number = 0;  ///< they are counted from 1
  std::chrono::system_clock::time_point when;
  std::string words;
};

}  // namespace gnstor::host

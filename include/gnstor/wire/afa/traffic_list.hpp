#pragma once

#include <gnstor/wire/nvme/read_write.hpp>
#include <gnstor/wire/nvme/transfer_direction.hpp>

#include <cstddef>
#include <type_traits>

namespace gnstor::wire::afa {

/// Latencies are counted in powers of two: how many commands took less than 1, 2, 4, ... 2^18
/// microseconds and not less than the one before, and in the last one how many took longer.
inline constexpr std::uint32_t latency_classes = 20;

/// What hosts have had a target do with one volume since it began to serve it. GNStor's own clients
/// write each replica by a command of its own; a plain host's command counts once.
struct traffic_record {
  std::uint16_t vid;
  std::uint16_t reserved2;
  std::uint32_t reserved4;
  std::uint64_t reads;  ///< commands that succeeded
  std::uint64_t writes;
  std::uint64_t read_blocks;
  std::uint64_t written_blocks;
  std::uint64_t errors;      ///< commands that did not
  std::uint64_t latency_ns;  ///< of all of them together
  std::uint64_t latencies[latency_classes];
};

inline constexpr std::uint32_t traffic_list_records = 18;

/// The data of TRAFFIC LIST, a command on the admin queue that the target itself answers, for the
/// array's manager alone: its volumes' traffic, in order of VID.
struct traffic_list {
  static constexpr std::uint8_t opcode = 0xd6;

  std::uint32_t version;   ///< `payload_version`
  std::uint16_t count;     ///< records in use
  std::uint16_t next_vid;  ///< where the next list begins; 0: there are no more
  std::uint64_t reserved8[3];
  traffic_record records[traffic_list_records];

  /// Asks for the volumes from VID `first` on.
  GNSTOR_HD static constexpr nvme::submission_entry pack(std::uint16_t first) {
    nvme::submission_entry entry = nvme::make_command(opcode, 0, 0);
    entry.cdw10 = first;
    return entry;
  }
  GNSTOR_HD static constexpr std::uint16_t first_of(const nvme::submission_entry& entry) {
    return static_cast<std::uint16_t>(entry.cdw10);
  }
};

static_assert(nvme::direction_of(traffic_list::opcode) ==
              nvme::transfer_direction::controller_to_host);
static_assert(sizeof(traffic_record) == 216 && std::is_trivial_v<traffic_record>);
static_assert(offsetof(traffic_record, reads) == 8);
static_assert(offsetof(traffic_record, writes) == 16);
static_assert(offsetof(traffic_record, read_blocks) == 24);
static_assert(offsetof(traffic_record, written_blocks) == 32);
static_assert(offsetof(traffic_record, errors) == 40);
static_assert(offsetof(traffic_record, latency_ns) == 48);
static_assert(offsetof(traffic_record, latencies) == 56);
static_assert(sizeof(traffic_list) == 3920 && std::is_trivial_v<traffic_list>);
static_assert(offsetof(traffic_list, count) == 4);
static_assert(offsetof(traffic_list, next_vid) == 6);
static_assert(offsetof(traffic_list, reserved8) == 8);
static_assert(offsetof(traffic_list, records) == 32);

}  // namespace gnstor::wire::afa

#pragma once

#include <gnstor/wire/nvme/read_write.hpp>
#include <gnstor/wire/nvme/transfer_direction.hpp>

#include <cstddef>
#include <type_traits>

namespace gnstor::wire::afa {

/// A host that a target knows: it is connected, or may be about to connect again.
struct host_record {
  std::uint16_t client;        ///< as whom the array knows it
  std::uint16_t associations;  ///< that live
  std::uint32_t life;          ///< another number each time that the host comes anew
  char nqn[224];               ///< UTF-8, zero terminated
  char address[48];            ///< where it connects from; zero terminated, empty: not known
};

inline constexpr std::uint32_t host_list_records = 14;

/// The data of HOST LIST, a command on the admin queue that the target itself answers, for the
/// array's manager alone: the hosts, in order of their client ids.
struct host_list {
  static constexpr std::uint8_t opcode = 0xd2;

  std::uint32_t version;      ///< `payload_version`
  std::uint16_t count;        ///< records in use
  std::uint16_t next_client;  ///< where the next list begins; 0: there are no more
  std::uint64_t serving_ms;  ///< how long the target has been serving: hosts need time to come back
  std::uint64_t reserved16[2];
  host_record records[host_list_records];

  /// Asks for the hosts from client id `first` on.
  GNSTOR_HD static constexpr nvme::submission_entry pack(std::uint16_t first) {
    nvme::submission_entry entry = nvme::make_command(opcode, 0, 0);
    entry.cdw10 = first;
    return entry;
  }
  GNSTOR_HD static constexpr std::uint16_t first_of(const nvme::submission_entry& entry) {
    return static_cast<std::uint16_t>(entry.cdw10);
  }
};

static_assert(nvme::direction_of(host_list::opcode) ==
              nvme::transfer_direction::controller_to_host);
static_assert(sizeof(host_record) == 280 && std::is_trivial_v<host_record>);
static_assert(offsetof(host_record, associations) == 2);
static_assert(offsetof(host_record, life) == 4);
static_assert(offsetof(host_record, nqn) == 8);
static_assert(offsetof(host_record, address) == 232);
static_assert(sizeof(host_list) == 3952 && std::is_trivial_v<host_list>);
static_assert(offsetof(host_list, count) == 4);
static_assert(offsetof(host_list, next_client) == 6);
static_assert(offsetof(host_list, serving_ms) == 8);
static_assert(offsetof(host_list, reserved16) == 16);
static_assert(offsetof(host_list, records) == 32);

}  // namespace gnstor::wire::afa

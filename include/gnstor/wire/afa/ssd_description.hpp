#pragma once

#include <gnstor/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gnstor::wire::afa {

/// How an SSD's flash is used, and how worn it is: the data of SSD DESCRIBE. Blocks are of 4 KiB.
struct ssd_description {
  std::uint32_t version;  ///< `payload_version`
  std::uint32_t epoch;
  std::uint64_t usable_blocks;  ///< that its mapping tables and its flash have room for
  std::uint64_t used_blocks;    ///< that hold data, or that a shard has set aside for it
  std::uint32_t erase_blocks;
  std::uint32_t seen_blocks;   ///< of those, evenly chosen and always the same, that follow:
  std::uint64_t erases;        ///< of all seen, since the SSD was formatted
  std::uint32_t least_erases;  ///< of the one that has had the fewest
  std::uint32_t most_erases;   ///< likewise
  std::uint64_t reserved48[2];
};

static_assert(sizeof(ssd_description) == 64 && std::is_trivial_v<ssd_description>);
static_assert(offsetof(ssd_description, version) == 0);
static_assert(offsetof(ssd_description, epoch) == 4);
static_assert(offsetof(ssd_description, usable_blocks) == 8);
static_assert(offsetof(ssd_description, used_blocks) == 16);
static_assert(offsetof(ssd_description, erase_blocks) == 24);
static_assert(offsetof(ssd_description, seen_blocks) == 28);
static_assert(offsetof(ssd_description, erases) == 32);
static_assert(offsetof(ssd_description, least_erases) == 40);
static_assert(offsetof(ssd_description, most_erases) == 44);
static_assert(offsetof(ssd_description, reserved48) == 48);

}  // namespace gnstor::wire::afa

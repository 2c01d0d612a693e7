#pragma once

#include "files/ondisk/big_endian.hpp"

namespace gnstor::host::files::xfs {

/// What an inode begins with; its data fork follows. XFS Algorithms & Data Structures, "Inode
/// Core".
struct inode_core {
  big16 magic;
  big16 mode;
  std::uint8_t version;  ///< 3 in version 5 of the format
  std::uint8_t format;
  big16 old_links;  ///< of inode version 1
  big32 user;
  big32 group;
  big32 links;
  big32 project;
  big64 large_extents;  ///< with `flag2_large_counters`: how many extents the data fork has
  big64 accessed;
  big64 modified;
  big64 changed;
  big64 bytes;
  big64 blocks;
  big32 extent_hint;
  big32 extents;  ///< as `large_extents` without the flag; else of the attributes
  big16 attribute_extents;
  std::uint8_t attribute_offset;  ///< of the attributes behind the data fork's start, in 8 bytes
  std::uint8_t attribute_format;
  big32 event_mask;
  big16 event_state;
  big16 flags;
  big32 generation;
  big32 next_unlinked;
  // Version 3 from here on.
  little32 crc;
  big64 changes;
  big64 sequence;
  big64 flags2;
  big32 cow_hint;
  unsigned char pad[12];
  big64 created;
  big64 number;
  uuid id;
};
inline constexpr std::uint16_t inode_magic = 0x494e;   ///< "IN"
inline constexpr std::size_t inode_core_bytes2 = 100;  ///< of versions 1 and 2

inline constexpr std::uint8_t format_device = 0;
inline constexpr std::uint8_t format_local = 1;    ///< the fork holds the data itself
inline constexpr std::uint8_t format_extents = 2;  ///< ... a list of extents
inline constexpr std::uint8_t format_tree = 3;     ///< ... the root of a B+tree of extents

inline constexpr std::uint16_t mode_kind_mask = 0170000;
inline constexpr std::uint16_t flag_realtime = 1 << 0;
inline constexpr std::uint64_t flag2_big_time = 1 << 3;
inline constexpr std::uint64_t flag2_large_counters = 1 << 4;

static_assert(sizeof(inode_core) == 176 && offsetof(inode_core, crc) == inode_core_bytes2);
static_assert(offsetof(inode_core, large_extents) == 24 && offsetof(inode_core, bytes) == 56);
static_assert(offsetof(inode_core, extents) == 76 && offsetof(inode_core, attribute_offset) == 82);
static_assert(offsetof(inode_core, flags2) == 120 && offsetof(inode_core, number) == 152);

}  // namespace gnstor::host::files::xfs

#pragma once
/// Blocks of directories that hold names. XFS Algorithms & Data Structures, "Block Directories",
/// "Leaf Directories" and "Shortform Directories".

#include "files/ondisk/big_endian.hpp"

namespace gnstor::host::files::xfs {

/// Version 4; entries follow.
struct directory_block4 {
  big32 magic;
  big16 best_free[6];
};

/// Version 5; entries follow.
struct directory_block5 {
  big32 magic;
  little32 crc;
  big64 sector;
  big64 sequence;
  uuid id;
  big64 owner;
  big16 best_free[6];
  big32 pad;
};

/// The end of a directory's only block; `count` pairs of hash and address stand before it.
struct directory_tail {
  big32 count;
  big32 stale;
};

/// A name: it follows, then its kind where the file system has those, then `tag`, the entry's own
/// offset; rounded up to 8 bytes.
struct directory_name {
  big64 inode;
  std::uint8_t bytes;
};

/// Room between names: `free_tag`, and how long it is; `tag` as above at its end.
struct directory_room {
  big16 tag;
  big16 bytes;
};

/// A directory in its inode; numbers have 8 bytes if `long_count` is not 0.
struct short_directory {
  std::uint8_t count;
  std::uint8_t long_count;
};
/// One of its names, which follows; then its kind, then its number.
struct short_name {
  std::uint8_t bytes;
  big16 offset;
};

inline constexpr std::uint32_t only_block_magic4 = 0x58443242;  ///< "XD2B"
inline constexpr std::uint32_t only_block_magic5 = 0x58444233;  ///< "XDB3"
inline constexpr std::uint32_t data_block_magic4 = 0x58443244;  ///< "XD2D"
inline constexpr std::uint32_t data_block_magic5 = 0x58444433;  ///< "XDD3"
inline constexpr std::uint16_t free_tag = 0xffff;
inline constexpr std::size_t hash_entry_bytes = 8;
/// Where a directory's index of hashes begins in its file: names end before it.
inline constexpr std::uint64_t directory_index_offset = std::uint64_t{1} << 35;

static_assert(sizeof(directory_block4) == 16 && sizeof(directory_block5) == 64);
static_assert(offsetof(directory_block5, owner) == 40 && sizeof(directory_name) == 9);
static_assert(sizeof(short_name) == 3 && sizeof(directory_tail) == 8);

}  // namespace gnstor::host::files::xfs

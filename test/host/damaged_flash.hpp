#pragma once
/// Flash files with bits flipped, read by one runner after another.

#include "random_bytes.hpp"
#include "temp_folder.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/session.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace gnstor::test {

/// Flips one bit of the first page of an SSD's file that holds `block`. False: no page does.
inline bool flip_bit(const temp_folder& folder, std::uint32_t ssd, const unsigned char* block) {
  std::fstream file(folder.path() + "/ssd" + std::to_string(ssd) + ".flash",
                    std::ios::in | std::ios::out | std::ios::binary);
  std::vector<char> page(block_bytes);
  for (std::streamoff at = 0; file.read(page.data(), block_bytes); at += block_bytes) {
    if (std::memcmp(page.data(), block, block_bytes) != 0) continue;
    const std::streamoff where = at + block[0] * 16 + block[1] % 16;
    page[static_cast<std::size_t>(where - at)] ^= static_cast<char>(1 << (block[2] % 8));
    file.seekp(where);
    file.put(page[static_cast<std::size_t>(where - at)]);
    return true;
  }
  return false;
}

/// What a session finds of a volume in damaged flash.
struct damage_seen {
  std::uint32_t wrong = 0;    ///< reads that gave other bytes than were written
  std::uint32_t refused = 0;  ///< reads that ended with the status of damaged data
};

inline void read_damaged(host::session& s, const volume_info& v,
                         const std::vector<unsigned char>& bytes, std::uint32_t first,
                         std::uint32_t blocks, damage_seen& seen) {
  std::vector<unsigned char> out(std::size_t{blocks} * block_bytes);
  const std::size_t at = std::size_t{first} * block_bytes;
  try {
    s.read(v, at, out.data(), out.size());
    seen.wrong += std::memcmp(out.data(), bytes.data() + at, out.size()) != 0 ? 1 : 0;
  } catch (const host::io_error& e) {
    CHECK(e.outcome().nvme_type == 2);  // media and data integrity errors
    CHECK(e.outcome().nvme_code == 0x81);
    CHECK(std::string(e.what()).find("media error") != std::string::npos);
    ++seen.refused;
  }
}

/// A volume is written by `writer`, a bit of each block flips on one SSD, and each of `readers`
/// reads it; those with check_reads=no are to find what is there.
/// @param writer, readers endpoint options, each with a leading &
/// @param within where the files lie
inline void check_damaged_flash(
    const std::string& writer, const std::vector<std::string>& readers,
    const std::string& within = std::filesystem::temp_directory_path()) {
  constexpr std::uint32_t count = 32;  // two stripes: read block by block, and as commands of 16
  const auto bytes = random_bytes(count * block_bytes, 5);
  for (const std::uint32_t replicas : {2u, 1u}) {
    CAPTURE(replicas);
    const temp_folder folder(within);
    const std::string array = "emu:?ssds=2&capacity=16M&flash=" + folder.path();
    {
      host::session s(array + writer);
      const volume_info v = s.create_volume({.bytes = bytes.size(), .replicas = replicas});
      s.write(v, 0, bytes.data(), bytes.size());
    }
    std::uint32_t flipped = 0;
    for (std::uint32_t k = 0; k < count; ++k)
      flipped += flip_bit(folder, k % 2, bytes.data() + k * block_bytes) ? 1 : 0;
    // With two replicas every block has a good one left.
    REQUIRE((replicas == 2 ? flipped == count : flipped > 0));
    for (const std::string& more : readers) {
      CAPTURE(more);
      const bool checked = more.find("check_reads=no") == std::string::npos;
      host::session s(array + more);
      const volume_info v = s.open_volume(volume_id(s.volumes()[0].vid));
      damage_seen seen;
      for (std::uint32_t k = 0; k < count; ++k) read_damaged(s, v, bytes, k, 1, seen);
      if (!checked) {
        CHECK(seen.wrong > 0);
        CHECK(seen.refused == 0);
        continue;
      }
      CHECK(seen.wrong == 0);
      CHECK(seen.refused == (replicas == 1 ? flipped : 0));
      // Both replicas of a stripe have damaged blocks, but not the same: no command that reads it
      // whole succeeds, and yet all of it is there.
      seen = {};
      read_damaged(s, v, bytes, 0, count, seen);
      CHECK(seen.wrong == 0);
      CHECK(seen.refused == (replicas == 1 ? 1 : 0));
    }
  }
}

}  // namespace gnstor::test

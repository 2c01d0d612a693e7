#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::fw {

/// Why a metadata block cannot be used. Host only.
enum class mount_status : std::uint8_t {
  ok = 0,
  bad_geometry,    ///< `geometry::fault` says what is wrong with it
  too_small,       ///< the block has fewer bytes than the layout needs
  not_formatted,   ///< the magic is missing: no SSD of ours, or never formatted
  other_version,   ///< written by another version of the firmware
  other_geometry,  ///< formatted with other pages, shards, block size or volume limit
  other_ssd,       ///< belongs to another index, or to an array with another number of SSDs
  damaged,  ///< a volume's record is not what was written, or pages of two shards share a block
};

/// The reason in words, with the remedy where there is one.
constexpr const char* to_string(mount_status s) {
  switch (s) {
    case mount_status::ok: return "ok";
    case mount_status::bad_geometry: return "the geometry is impossible";
    case mount_status::too_small:
      return "the metadata is shorter than its geometry needs: the file was truncated";
    case mount_status::not_formatted: return "this is no flash of an SSD: point to another folder";
    case mount_status::other_version:
      return "the metadata is of another format version than this firmware's: read it with the "
             "release that wrote it, or remove the flash files to begin with empty ones";
    case mount_status::other_geometry:
      return "the flash was formatted with another size, shard count or block size";
    case mount_status::other_ssd:
      return "the flash belongs to another SSD, or to an array with more or fewer SSDs: open it "
             "with as "
             "many, or with more and grow=yes";
    case mount_status::damaged: return "the metadata is damaged: put back a copy of the file";
  }
  return "unknown";
}

}  // namespace gnstor::fw

#pragma once

#include <gnstor/wire/afa/volume_record.hpp>

#include <type_traits>

namespace gnstor::fw {

inline constexpr std::uint32_t vid_count = 65536;  ///< volume ids, 0 included

/// One entry of the permission table: two images of a volume, of which `version` says which one
/// counts.
///
/// The admin owner fills the other image and then publishes it, so that a reader never waits for a
/// writer, and a process killed half-way leaves the old image. All words are atomic.
struct volume_slot {
  static constexpr std::uint32_t record_words =
      sizeof(wire::afa::volume_record) / sizeof(std::uint64_t);
  /// Follows the record: the generation, and above it a check over the whole image.
  static constexpr std::uint32_t generation_word = record_words;
  static constexpr std::uint32_t words = record_words + 1;

  std::uint64_t version = 0;  ///< image `version % 2` counts; a record with VID 0 is no volume
  std::uint64_t images[2][words] = {};
};

static_assert(sizeof(volume_slot) == 792 && std::is_trivially_copyable_v<volume_slot>);

}  // namespace gnstor::fw

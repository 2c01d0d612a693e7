#pragma once
/// The frames of arrays under test, in this process's memory.

#include "quiet.hpp"
#include <gnstor/array/frame_ring.hpp>
#include <gnstor/memory/io_buffer.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace gnstor::test {

/// Frames of one array, or of several that share them.
struct rig_frames {
  static constexpr std::uint32_t most_sharers = 4;
  static constexpr std::size_t sharer_bytes = 512;

  /// @param shape of one of the arrays: frames, page_words and how
  /// @param ring_bytes what the arrays' pages keep for the frames
  rig_frames(const rig_shape& shape, std::uint64_t ring_bytes)
      : use(shape.frames),
        words(lines(ring_bytes)),
        count(shape.frames),
        how(shape.how),
        page_bytes(8 * shape.page_words),
        memory(std::size_t{shape.frames} * shape.page_words + 2),
        list(most_sharers * sharer_bytes / 8) {}

  frame_ring ring() { return {words.data(), count, how}; }
  /// Begins at a multiple of 16.
  io_buffer buffer() {
    const std::uint64_t at = (reinterpret_cast<std::uint64_t>(memory.data()) + 15) / 16 * 16;
    return {at, std::uint64_t{count} * page_bytes, 0, 0};
  }
  /// The arrays' pages, by their numbers.
  template <class Pages>
  const Pages* sharers() const {
    static_assert(sizeof(Pages) <= sharer_bytes);
    return reinterpret_cast<const Pages*>(list.data());
  }
  template <class Pages>
  void put(const Pages& pages, const frame_share& share) {
    std::memcpy(reinterpret_cast<unsigned char*>(list.data()) + share.array * sizeof pages, &pages,
                sizeof pages);
  }

  std::vector<std::uint32_t> use;  ///< of each frame: lanes and I/Os that use it
  std::vector<word_line> words;

 private:
  std::uint32_t count;
  eviction how;
  std::uint32_t page_bytes;
  std::vector<std::uint64_t> memory;
  std::vector<std::uint64_t> list;
};

}  // namespace gnstor::test

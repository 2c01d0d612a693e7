#pragma once
/// What must hold of a page cache's words when no lane runs.

#include "fake_disk.hpp"
#include <gnstor/array/page_cache.hpp>

#include <string>
#include <vector>

namespace gnstor::test {

/// How large an array under test is.
struct rig_shape {
  std::uint32_t pages = 12;
  std::uint32_t frames = 4;
  std::uint32_t page_words = 8;
  std::uint32_t delay = 0;
  eviction how = eviction::fifo;
  std::uint64_t timeout_ns = 1'000'000'000;
  frame_share share{};
};

/// A shape from a seed: few frames, often fewer than the lanes use at once, and slow or quick
/// disks.
inline rig_shape contended_shape(std::uint64_t seed) {
  rig_shape s;
  s.how = static_cast<eviction>(seed / 15 % 3);
  s.frames = 1 + static_cast<std::uint32_t>(seed % 5);
  s.delay = static_cast<std::uint32_t>(seed / 5 % 3);
  return s;
}

/// Where the elements of a rig lie, on its disk or in its memory.
template <class Rig>
auto* content_of(Rig& r) {
  if constexpr (requires { r.content(); }) {
    return r.content();
  } else {
    return r.content.data();
  }
}

/// Memory of a page cache, aligned as its state wants it.
struct alignas(page_cache_state) word_line {
  std::uint64_t words[alignof(page_cache_state) / 8];
};

/// The state of a page cache as it stands in memory.
inline const page_cache_state& state_in(const std::vector<word_line>& memory) {
  return *reinterpret_cast<const page_cache_state*>(memory.data());
}

/// Lines that hold so many bytes.
inline std::size_t lines(std::uint64_t bytes) { return bytes / sizeof(word_line) + 1; }

/// The word of a page as the host sees it; no word's, if it has none.
template <class Words>
page_word word_in(const std::vector<word_line>& memory, const rig_shape& shape,
                  std::uint32_t page) {
  const std::uint64_t* const words = reinterpret_cast<const std::uint64_t*>(&state_in(memory) + 1);
  return Words(const_cast<std::uint64_t*>(words), shape.pages, shape.frames).look(page_index(page));
}

/// The words of an array and its frames as the host sees them, checked against the protocol.
template <class Words>
std::string check_words(const std::vector<word_line>& memory, const std::vector<word_line>& ring,
                        rig_shape shape) {
  const page_cache_state& state = state_in(memory);
  const auto* frames = reinterpret_cast<const frame_word*>(
      reinterpret_cast<const unsigned char*>(ring.data()) + frame_ring::bytes(0));
  std::vector<std::uint32_t> holders(shape.frames);
  std::uint64_t resident = 0;
  for (std::uint32_t p = 0; p < shape.pages; ++p) {
    const page_word word = word_in<Words>(memory, shape, p);
    const std::string page = "page " + std::to_string(p);
    if (word.references() != 0) return page + " is still pinned";
    if (word.is(page_word::busy)) return page + " is still busy";
    if (word.is(page_word::failed) && word.is(page_word::resident))
      return page + " failed, yet here";
    if (word.is(page_word::dirty) && !word.is(page_word::resident))
      return page + " dirty, yet gone";
    if (word.is(page_word::accessed) && !word.is(page_word::resident))
      return page + " accessed, yet gone";
    if (word.is(page_word::write_failed) && !word.is(page_word::dirty))
      return page + " not written, yet clean";
    if (!word.is(page_word::resident)) continue;
    ++resident;
    const std::uint32_t f = word.frame().value;
    if (f >= shape.frames) return page + " names a frame past the last";
    if (++holders[f] != 1) return page + " shares its frame with another page";
    if (!frames[f].is(frame_word::holds) || frames[f].page().value != p ||
        frames[f].array() != shape.share.array)
      return page + "'s frame names another page";
  }
  std::uint64_t lost = 0;
  for (std::uint32_t f = 0; f < shape.frames; ++f) {
    if (!frames[f].is_free() && frames[f].array() != shape.share.array) continue;
    if (frames[f].is(frame_word::lost)) {
      ++lost;
    } else if (holders[f] == 0 && !frames[f].is_free()) {
      return "frame " + std::to_string(f) + " is neither free nor held";
    }
  }
  const page_cache_counters& c = state.counters;
  if (c.pages_in - c.evictions != resident) return "pages in, evictions and residents disagree";
  if (c.lost_frames != lost) return "the count of lost frames is wrong";
  if (c.io_errors != 0 && c.first_error == 0) return "an I/O error left no status";
  return {};
}

}  // namespace gnstor::test

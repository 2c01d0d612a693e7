#pragma once

#include <gnstor/array/page_table.hpp>

#include <cstdint>
#include <string>

namespace gnstor::host {

/// What an array did so far, counted off the hot path: accesses that found their page present are
/// not counted. Exact when no kernel uses the array.
struct array_statistics {
  std::string name;              ///< "array on volume 3"
  std::uint32_t pages = 0;       ///< of the array
  std::uint32_t frames = 0;      ///< that its pages may lie in
  bool shared = false;           ///< whether other arrays' pages may, too
  std::uint32_t page_bytes = 0;  ///< of a page and of a frame

  std::uint64_t faults = 0;       ///< pages brought into frames: fetched, or begun by an overwrite
  std::uint64_t refetches = 0;    ///< of these, pages that had been in a frame before
  std::uint64_t waits = 0;        ///< groups of lanes that waited for a page on its way
  std::uint64_t evictions = 0;    ///< pages that lost their frame to another one
  std::uint64_t dropped = 0;      ///< pages that lost their frame because the host wrote them
  std::uint64_t write_backs = 0;  ///< pages written to where they lie
  std::uint64_t bytes_in = 0;     ///< of the pages fetched
  std::uint64_t bytes_out = 0;    ///< of the pages written back
  std::uint64_t lost_frames = 0;  ///< set aside because a request given up may still use them
  std::uint64_t errors = 0;       ///< fetches and write-backs that failed
  std::uint64_t held = 0;         ///< frames that its pages lie in now

  /// @param c the counters of the array that the other arguments describe
  static array_statistics of(const page_cache_counters& c, std::string name, std::uint32_t pages,
                             std::uint32_t frames, std::uint32_t page_bytes, bool shared = false);

  /// Pages that have been in a frame at least once.
  std::uint64_t touched() const;
  /// True if most faults brought back a page that had lost its frame to another: kernels use more
  /// pages at a time than there are frames, or than other arrays leave it, and a run is many times
  /// slower than it need be.
  bool is_short_of_frames() const;
  /// The cause in a sentence, and the frames with which no page is fetched twice; empty unless
  /// `is_short_of_frames`. Fewer frames may do: how many pages are in use at once is not counted.
  std::string advice() const;
  /// All of it, a line per number, and the advice if there is any.
  std::string to_string() const;
};

}  // namespace gnstor::host

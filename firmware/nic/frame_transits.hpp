#pragma once

#include <gnstor/core/latency_histogram.hpp>
#include <gnstor/simt/atomic_ref.hpp>

#include <type_traits>

namespace gnstor::fw {

/// How long the frames of generators take from the wire, through kernels, to a wire: of each stream
/// a histogram.
///
/// A frame of 60 bytes has no room for a time, so that times stand here, by the low bits of the
/// frame's number; the next ones stand beside a time and tell whose it is.
struct frame_transits {
  static constexpr std::uint32_t streams = 8;
  static constexpr std::uint32_t places = 1 << 16;  ///< more than a flow has buffers

  std::uint64_t began[streams][places];  ///< 48 bits of nanoseconds, 16 of the number
  latency_histogram took[streams];

  /// @par Callers who serves the port that the frame came in by
  GNSTOR_HD void begins(std::uint16_t stream, std::uint64_t number, std::uint64_t now_ns) {
    word64(began[stream][number % places]).store(entry(number, now_ns), relaxed);
  }
  /// @par Callers who serves the port that it leaves by
  /// @par Order the frame was handed on since it began: its time is here
  GNSTOR_HD void ends(std::uint16_t stream, std::uint64_t number, std::uint64_t now_ns) {
    if (stream >= streams) return;
    const std::uint64_t then = word64(began[stream][number % places]).load(relaxed);
    const std::uint64_t now = entry(number, now_ns);
    // Another frame began in its place: it was away for too long.
    if (((now ^ then) & tag_mask) != 0) return;
    const std::uint64_t ns = (now - then) >> tag_bits;
    system_word<std::uint32_t>(took[stream].count[latency_histogram::bucket_of(ns)])
        .fetch_add(1, relaxed);
  }

 private:
  using word64 = system_word<std::uint64_t>;
  static constexpr std::uint32_t tag_bits = 16;
  static constexpr std::uint64_t tag_mask = (1 << tag_bits) - 1;

  GNSTOR_HD static std::uint64_t entry(std::uint64_t number, std::uint64_t now_ns) {
    return now_ns << tag_bits | (number / places & tag_mask);
  }
};

static_assert(std::is_trivial_v<frame_transits>);

}  // namespace gnstor::fw

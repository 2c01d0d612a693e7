#pragma once
/// Lanes that fill a buffer in any order, and one that sends what is complete; run on both
/// machines.

#include <gnstor/core/hash.hpp>
#include <gnstor/simt/lane.hpp>
#include <hca/chunk_tracker.hpp>

namespace gnstor::test {

inline constexpr std::uint32_t tracked_bytes = 1000;  ///< not a multiple of anything
inline constexpr std::uint32_t tracked_chunk = 48;
inline constexpr std::uint32_t tracked_fillers = 4;
inline constexpr std::uint32_t tracked_words =
    fw::chunk_tracker<thread_scope_device>::words_for(tracked_bytes / tracked_chunk + 1);

struct tracked_record {
  std::uint32_t sent;
  std::uint32_t wrong;
};

/// Brings every `tracked_fillers`-th piece of a few bytes, in an order drawn from the seed.
struct chunk_filler {
  std::uint64_t seed;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, std::uint32_t* words, unsigned char* buffer) const {
    const fw::chunk_tracker<thread_scope_device> t(words, tracked_bytes, tracked_chunk);
    constexpr std::uint32_t piece = 20;
    constexpr std::uint32_t pieces = tracked_bytes / piece;
    const std::uint32_t me = lane.block();
    const std::uint32_t stride = 7;  // prime to the number of pieces
    const auto start = static_cast<std::uint32_t>(mix64(seed + me) % pieces);
    for (std::uint32_t k = 0; k < pieces; ++k) {
      const std::uint32_t at = (start + k * stride) % pieces;
      if (at % tracked_fillers != me) continue;
      for (std::uint32_t b = at * piece; b < (at + 1) * piece; ++b)
        buffer[b] = static_cast<unsigned char>(mix64(b) | 1);
      t.arrived(at * piece, piece);
    }
  }
};

/// Takes what is valid until everything has gone.
struct chunk_sender {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, std::uint32_t* words, const unsigned char* buffer,
                            tracked_record* out) const {
    const fw::chunk_tracker<thread_scope_device> t(words, tracked_bytes, tracked_chunk);
    std::uint32_t sent = 0;
    for (std::uint32_t step = 0; step < 10'000'000 && sent < tracked_bytes; ++step) {
      const std::uint32_t more = t.valid(sent);
      for (std::uint32_t b = sent; b < sent + more; ++b)
        out->wrong += buffer[b] != static_cast<unsigned char>(mix64(b) | 1) ? 1 : 0;
      sent += more;
      if (more == 0) lane.pause();
    }
    out->sent = sent;
  }
};

}  // namespace gnstor::test

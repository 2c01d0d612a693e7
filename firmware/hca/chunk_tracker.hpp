#pragma once

#include <gnstor/core/assert.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/atomic_ref.hpp>

#include <cuda/std/bit>

#include <type_traits>

namespace gnstor::fw {

/// Which chunks of a buffer are complete, while several agents fill it in any order (a view): what
/// a synchronised send asks before it puts data on the wire. gmblock, 4.
///
/// A chunk's bit is set by whoever brings its last byte. The seed takes the bit of chunk n + 1,
/// set by any byte there, as the sign that chunk n is complete, which holds for one agent that
/// writes in ascending order and for nothing else: parallel flash units do not.
template <thread_scope Scope>
class chunk_tracker {
 public:
  static constexpr std::uint32_t words_for(std::uint32_t chunks) {
    return chunks + (chunks + 31) / 32;
  }

  /// @param words `words_for(chunks)` of them
  /// @param bytes of the buffer; the last chunk may be shorter
  GNSTOR_HD chunk_tracker(std::uint32_t* words, std::uint32_t bytes, std::uint32_t chunk)
      : missing_(words), bits_(words + chunks_of(bytes, chunk)), bytes_(bytes), chunk_(chunk) {}

  GNSTOR_HD std::uint32_t chunks() const { return chunks_of(bytes_, chunk_); }

  /// Nothing has arrived. @par Callers one, while nobody fills or sends
  GNSTOR_HD void clear() const {
    for (std::uint32_t c = 0; c < chunks(); ++c) missing_[c] = length_of(c);
    for (std::uint32_t w = 0; w < (chunks() + 31) / 32; ++w) bits_[w] = 0;
  }

  /// Bytes [first, first + count) are in the buffer. Each byte arrives once.
  /// @par Callers anybody, at once
  /// @par Order releases what the caller has written there to those who see it as `valid`
  GNSTOR_HD void arrived(std::uint32_t first, std::uint32_t count) const {
    std::uint32_t at = first;
    for (bounded steps{chunks()}; steps && at < first + count;) {
      const std::uint32_t c = at / chunk_;
      const std::uint32_t end = c * chunk_ + length_of(c);
      const std::uint32_t here = (end < first + count ? end : first + count) - at;
      // Acquire: what the others have brought goes out with the bit, too.
      const std::uint32_t left = word(missing_[c]).fetch_sub(here, acq_rel);
      GNSTOR_VERIFY(left >= here);
      if (left == here) word(bits_[c / 32]).fetch_or(1u << (c % 32), release);
      at += here;
    }
  }

  /// Bytes that may be sent from `sent` on: all chunks up to there are complete.
  /// @param sent bytes sent before, all of which were valid
  /// @par Callers the sender
  /// @par Order acquires those bytes
  GNSTOR_HD std::uint32_t valid(std::uint32_t sent) const {
    std::uint32_t c = sent / chunk_;
    for (bounded steps{chunks() / 32 + 2}; steps && c < chunks();) {
      const std::uint32_t seen = word(bits_[c / 32]).load(acquire) >> (c % 32);
      const auto run = static_cast<std::uint32_t>(cuda::std::countr_one(seen));
      c += run;
      if (run == 0 || c % 32 != 0) break;
    }
    const std::uint32_t end = c < chunks() ? c * chunk_ : bytes_;
    return end > sent ? end - sent : 0;
  }

 private:
  static GNSTOR_HD constexpr std::uint32_t chunks_of(std::uint32_t bytes, std::uint32_t chunk) {
    return (bytes + chunk - 1) / chunk;
  }
  GNSTOR_HD std::uint32_t length_of(std::uint32_t c) const {
    const std::uint32_t first = c * chunk_;
    return bytes_ - first < chunk_ ? bytes_ - first : chunk_;
  }
  static GNSTOR_HD atomic_ref<std::uint32_t, Scope> word(std::uint32_t& w) {
    return atomic_ref<std::uint32_t, Scope>(w);
  }

  std::uint32_t* missing_;  ///< bytes of each chunk
  std::uint32_t* bits_;
  std::uint32_t bytes_;
  std::uint32_t chunk_;
};

static_assert(std::is_trivially_copyable_v<chunk_tracker<thread_scope_system>>);

}  // namespace gnstor::fw

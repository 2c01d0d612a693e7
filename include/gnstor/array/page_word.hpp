#pragma once

#include <gnstor/core/status.hpp>
#include <gnstor/core/units.hpp>

namespace gnstor::inline v0 {

/// The state of one page of an array, as one 64-bit word: frame 63:37, version 36:26, flags 25:20,
/// reference count 19:0. A page whose fetch failed has neither frame nor version: bits 63:32 say
/// why.
///
/// References are added and dropped by plain additions, whatever the flags say; a lane that finds
/// the page busy keeps its reference and waits. Only the lane that set `busy` changes the frame and
/// the other flags; `dirty` and `accessed` are set by lanes that hold a reference. The version
/// grows each time the page loses its frame, so that a lane that reads without a reference sees
/// that the frame was another page's meanwhile.
///
/// The largest GPU of today has 303,104 lanes at a time. A lane that adds a reference beyond
/// `most_references` takes it back, so that the count never runs over.
struct page_word {
  static constexpr std::uint64_t reference = 1;
  static constexpr std::uint64_t reference_mask = (1ull << 20) - 1;
  static constexpr std::uint64_t most_references = 1ull << 19;
  static constexpr std::uint64_t write_failed = 1ull << 20;  ///< dirty, and the last write-back
                                                             ///< failed: only a flush tries again
  static constexpr std::uint64_t resident = 1ull << 21;      ///< the frame holds the page
  static constexpr std::uint64_t busy = 1ull << 22;    ///< being fetched, written back or evicted
  static constexpr std::uint64_t dirty = 1ull << 23;   ///< the frame is newer than the store
  static constexpr std::uint64_t failed = 1ull << 24;  ///< the last fetch failed; sticky
  static constexpr std::uint64_t accessed = 1ull
                                            << 25;  ///< used since the hand went by: `eviction`
  static constexpr std::uint64_t version_mask = 0x7ffull << 26;
  static constexpr std::uint32_t max_frames = 1u << 27;
  static constexpr std::uint64_t max_pages = (1ull << 31) - 1;

  std::uint64_t bits = 0;

  GNSTOR_HD constexpr bool is(std::uint64_t flag) const { return (bits & flag) != 0; }
  GNSTOR_HD constexpr bool usable() const { return (bits & (resident | busy)) == resident; }
  /// Usable, and marked as accessed: who reads it has nothing to write down.
  GNSTOR_HD constexpr bool readable() const {
    return (bits & (resident | busy | accessed)) == (resident | accessed);
  }
  GNSTOR_HD constexpr std::uint64_t references() const { return bits & reference_mask; }
  GNSTOR_HD constexpr frame_index frame() const {
    return frame_index(static_cast<std::uint32_t>(bits >> 37));
  }
  GNSTOR_HD static constexpr std::uint64_t at(frame_index f) {
    return std::uint64_t{f.value} << 37;
  }
  /// The version's bits, and those of the one after it.
  GNSTOR_HD constexpr std::uint64_t version() const { return bits & version_mask; }
  GNSTOR_HD constexpr std::uint64_t next_version() const {
    return (bits + (1ull << 26)) & version_mask;
  }
  /// True if the page lies, usable, where it lay when `then` was read, and has lain there since.
  GNSTOR_HD constexpr bool unmoved_since(page_word then) const {
    constexpr std::uint64_t changing = reference_mask | dirty | accessed | write_failed;
    return ((bits ^ then.bits) & ~changing) == 0;
  }

  /// The flag and the reason of a failed fetch: code 35:32, reporter 38:36, then SSD 63:50, NVMe
  /// code 49:42 and type 41:39, or both syndromes in their place.
  GNSTOR_HD static constexpr std::uint64_t failure(status s) {
    const bool by_ssd = s.code == status_code::nvme_error;
    const std::uint64_t detail =
        by_ssd ? std::uint64_t{s.nvme_type} | std::uint64_t{s.nvme_code} << 3 |
                     std::uint64_t{s.ssd} << 11
               : std::uint64_t{s.syndrome} | std::uint64_t{s.vendor_syndrome} << 8;
    return failed | static_cast<std::uint64_t>(s.code) << 32 |
           static_cast<std::uint64_t>(s.by) << 36 | detail << 39;
  }
  GNSTOR_HD constexpr status why() const {
    status s = status::make(static_cast<status_code>(bits >> 32 & 0xf),
                            static_cast<reporter>(bits >> 36 & 0x7));
    const std::uint64_t detail = bits >> 39;
    if (s.code == status_code::nvme_error) {
      s.nvme_type = static_cast<std::uint8_t>(detail & 0x7);
      s.nvme_code = static_cast<std::uint8_t>(detail >> 3);
      s.ssd = static_cast<std::uint16_t>(detail >> 11);
    } else {
      s.syndrome = static_cast<std::uint8_t>(detail);
      s.vendor_syndrome = static_cast<std::uint8_t>(detail >> 8);
    }
    return s;
  }
};

static_assert(page_word{page_word::resident | page_word::at(frame_index(7))}.frame() ==
              frame_index(7));
static_assert(!page_word{page_word::resident | page_word::busy}.usable());
static_assert(page_word{page_word::failure(status::nvme(7, 0x81, 63))}.why() ==
              status::nvme(7, 0x81, 63));
static_assert(page_word{page_word::failure(status::unpack(0xff12'0000'0409))}.why() ==
              status::unpack(0xff12'0000'0409));
static_assert((page_word::reference_mask & (page_word::write_failed | page_word::resident |
                                            page_word::busy | page_word::dirty)) == 0);
static_assert(page_word{page_word::at(frame_index(9)) | page_word::version_mask}.next_version() ==
              0);
static_assert(page_word{page_word::resident | 3}.unmoved_since(
    {page_word::resident | page_word::dirty | page_word::accessed}));
static_assert(!page_word{page_word::resident}.unmoved_since({page_word::resident |
                                                             page_word::busy}));

}  // namespace gnstor::inline v0

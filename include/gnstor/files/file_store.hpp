#pragma once

#include <gnstor/array/page_store.hpp>
#include <gnstor/files/file_map.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/relaxed_bytes.hpp>

namespace gnstor::inline v0 {

/// The pages of a file, read by its extents from the device that it lies on: page p is the bytes
/// from p * page_bytes on, zeroes behind its end. Read only.
///
/// Whoever learns that the file may have changed sets a word, and lets the change go on afterwards:
/// a page is handed over only if the word was not set when its data had arrived.
/// @tparam Reader `read(offset, bytes, buffer, deadline)` of the device, as `namespace_reader`
template <class Reader>
class file_store {
 public:
  /// @param stale the word, where lanes reach it; null for a file that nobody changes
  GNSTOR_HD file_store(const Reader& reader, const file_map& map, std::uint32_t page_bytes,
                       std::uint32_t* stale)
      : reader_(reader), map_(map), stale_(stale), page_bytes_(page_bytes) {}

  GNSTOR_HD std::uint32_t page_bytes() const { return page_bytes_; }

  /// @par Errors stale: the file has changed, or is about to; those of the device
  GNSTOR_HD status fetch(page_index page, const io_buffer& frame, deadline d) const {
    if (is_stale()) return changed();
    const std::uint64_t first = std::uint64_t{page.value} * page_bytes_;
    std::uint64_t done = 0;
    for (bounded pieces{page_bytes_ / least_piece + 1}; pieces && done < page_bytes_;) {
      file_piece p = map_.from(first + done);
      if (p.bytes == 0) break;
      if (p.bytes > page_bytes_ - done) p.bytes = page_bytes_ - done;
      if (p.is_stored()) {
        // The device has whole blocks; what the last one has behind the file is cleared below.
        const status s = reader_.read(p.device_offset, whole_blocks(p.bytes),
                                      frame.slice(done, frame.bytes - done), d);
        if (!s.ok()) return s;
      } else {
        clear(frame, done, done + p.bytes);
      }
      done += p.bytes;
    }
    clear(frame, done, page_bytes_);
    return is_stale() ? changed() : status{};
  }
  /// Refused: a file's data may be shared with other files.
  GNSTOR_HD status store(page_index, const io_buffer&, deadline) const {
    return status::make(status_code::unsupported, reporter::array);
  }
  GNSTOR_HD file_store avoiding(ssd_index) const { return *this; }

 private:
  static constexpr std::uint32_t least_piece = 512;  ///< bytes: the smallest block of a file system

  GNSTOR_HD static status changed() { return status::make(status_code::stale, reporter::array); }
  GNSTOR_HD bool is_stale() const {
    // Paired with the release of who saw that the file is to change. What the device has delivered
    // was acquired with its completion, before this.
    return stale_ != nullptr && system_word<std::uint32_t>(*stale_).load(acquire) != 0;
  }
  GNSTOR_HD std::uint64_t whole_blocks(std::uint64_t bytes) const {
    const std::uint64_t lba = reader_.lba_bytes();
    return (bytes + lba - 1) / lba * lba;
  }
  /// By relaxed stores: a lane that reads the page before may still look at the frame, and finds
  /// out afterwards.
  GNSTOR_HD static void clear(const io_buffer& frame, std::uint64_t from, std::uint64_t to) {
    auto* const bytes = reinterpret_cast<unsigned char*>(frame.address);
    constexpr unsigned char none = 0;
    for (; from < to && from % 8 != 0; ++from) simt::store_relaxed(bytes + from, none);
    for (; from + 8 <= to; from += 8) simt::store_relaxed(bytes + from, std::uint64_t{0});
    for (; from < to; ++from) simt::store_relaxed(bytes + from, none);
  }

  Reader reader_;
  file_map map_;
  std::uint32_t* stale_;
  std::uint32_t page_bytes_;
};

}  // namespace gnstor::inline v0

#pragma once

#include <gnstor/array/fault_ring.hpp>
#include <gnstor/array/page_table.hpp>
#include <gnstor/host/array_ground.hpp>
#include <gnstor/host/array_kernels.hpp>
#include <gnstor/host/array_options.hpp>
#include <gnstor/host/frame_memory.hpp>
#include <gnstor/host/memory_block.hpp>
#include <gnstor/host/pager.hpp>
#include <gnstor/simt/reservation.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace gnstor::detail {

/// `options` with the page size that their pool has, or `ground` where they do not say. Throws
/// `host::input_error` if they say another one than their pool, or that is for something else.
host::array_options paged(host::array_options options, const array_ground& ground);

/// What the typed owner does not need to repeat for each element type.
struct array_memory {
  std::shared_ptr<frame_memory> frames;  ///< null once the array is closed
  frame_share share;
  std::shared_ptr<void> membership;  ///< among those that share the frames: ends with this
  host::memory_block words;
  host::memory_block left;  ///< `flush_record`s: of the last flush, of the last host access
  host::memory_block twin;  ///< room for views that kernels reach: see `array_view`
  /// A `fault_ring`, once a pager is asked for; runs that have one hold it, too.
  std::shared_ptr<host::memory_block> faults;
  std::uint32_t pages = 0;
  std::uint32_t frame_count = 0;
  int device = 0;
  std::string name;          ///< "array on volume 3"
  std::uint64_t thrown = 0;  ///< the error that was thrown last

  /// Checks sizes, allocates and registers. Throws `host::input_error`.
  static array_memory make(const array_ground& ground, std::uint64_t count,
                           std::uint32_t element_bytes, const host::array_options& options);

  /// Where the view's twin lies, and the one of the view whose faults are served.
  static constexpr std::size_t twin_bytes = 2048;

  bool open() const { return frames != nullptr; }
  /// Lets arrays that share the frames find this one's pages, as kernels see them.
  void list(const void* pages, std::size_t bytes) const;
  /// The sharers' pages; null of an array that has its frames for itself.
  const void* sharers() const { return frames->is_shared() ? frames->list.data() : nullptr; }
  /// The ring of faults, made when it is asked for first.
  fault_ring fault_memory();
  /// What a pager gets; nobody else serves then. Throws `host::input_error` while another one does.
  pager_setup begin_service(const host::pager_options& options, std::uint64_t timeout_ns);
  /// What `begin_service` took, for the run that the pager belongs to.
  simt::reservation reserved_service() const;
  bool is_served() const;
  /// Throws `host::input_error` while a pager serves, or is to.
  void require_unserved() const;
  /// Throws `host::input_error` after `release`.
  void require_open() const;
  page_cache_counters counters() const;
  enum class record_of : std::uint8_t { flush, host_access };
  /// The record of the next flush or access, as if nothing was left.
  flush_record* fresh_record(record_of what);
  flush_record record(record_of what) const;
  /// Throws `host::io_error` if `dirty` names pages, or if the array holds an error.
  void check(const flush_record& dirty);
  void forget_error();
  /// Throws `host::input_error` while an array that shares the frames is in use.
  /// @param what "close": the array
  void require_frames_unused(const std::string& what) const;
  /// Gives the frames back; counters stay.
  void release() noexcept;
  /// Logs what would be lost in silence: an unreported error, dirty pages.
  void report_loss() const noexcept;

 private:
  /// Throws `host::input_error` where the pool has no room for it.
  void join(const host::frame_pool& pool, const host::array_options& options);
  /// What `simt::array_uses` calls the array.
  const void* words_name() const;
  std::uint64_t dirty_pages() const;
};

}  // namespace gnstor::detail

#pragma once

#include <gnstor/array/fault_ring.hpp>
#include <gnstor/array/page_table.hpp>
#include <gnstor/host/array_kernels.hpp>
#include <gnstor/host/array_options.hpp>
#include <gnstor/host/memory_block.hpp>
#include <gnstor/host/pager.hpp>
#include <gnstor/host/volume_pages.hpp>
#include <gnstor/memory/io_buffer.hpp>
#include <gnstor/simt/reservation.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace gnstor::detail {

/// `options` with the page size that `ground` has where they do not say.
inline host::array_options paged(host::array_options options, const array_ground& ground) {
  if (options.page_bytes == 0) options.page_bytes = ground.usual_page;
  return options;
}

/// What the typed owner does not need to repeat for each element type.
struct array_memory {
  host::memory_block frames;
  host::memory_block words;
  host::memory_block left;  ///< `flush_record`s: of the last flush, of the last host access
  host::memory_block twin;  ///< room for views that kernels reach: see `array_view`
  /// A `fault_ring`, once a pager is asked for; runs that have one hold it, too.
  std::shared_ptr<host::memory_block> faults;
  io_buffer buffer{};
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

  bool open() const { return frames.data() != nullptr; }
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
  /// Gives the frames back; counters stay.
  /// @param s that registered them, if one did
  void release(host::session* s) noexcept;
  void release(host::remote_memory* m) noexcept;
  /// Logs what would be lost in silence: an unreported error, dirty pages.
  void report_loss() const noexcept;

 private:
  std::uint64_t dirty_pages() const;
};

}  // namespace gnstor::detail

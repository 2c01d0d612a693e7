#pragma once

#include <gnstor/array/eviction.hpp>
#include <gnstor/host/array_ground.hpp>
#include <gnstor/host/mapped_memory.hpp>
#include <gnstor/host/session.hpp>

#include <cstdint>
#include <memory>

namespace gnstor::detail {
struct frame_memory;
}

namespace gnstor::host {

struct frame_pool_options {
  /// Memory for frames. 0: on a GPU seven eighths of the memory that is free, and at least 1 GiB
  /// stays free; on the host 64 MiB.
  std::uint64_t frame_bytes = 0;
  /// As `array_options::page_bytes`: of every array of the pool.
  std::uint32_t page_bytes = 0;
  gnstor::eviction eviction = gnstor::eviction::fifo;  ///< which page gives up its frame
};

/// Frames that several arrays share, so that memory goes to the array that needs it at the time: a
/// page that is missed takes its frame from any of them. Copies stand for the same frames, which
/// end with the last copy and the last array.
///
///     host::frame_pool frames(session, {.frame_bytes = 8ull << 30});
///     host::array<std::uint64_t> offsets(session, v1, n + 1, {.pool = &frames});
///     host::array<std::uint32_t> edges(session, v2, m, {.pool = &frames});
///
/// `array_options::kept_frame_bytes` says what an array keeps whatever the others need, and
/// `frame_bytes` what it takes at most. At most 64 arrays at a time. While a kernel or a pager uses
/// one of them, none may be made, closed, flushed or accessed by the host: where an executor runs
/// the kernel, that is refused.
class frame_pool {
 public:
  /// Frames for volumes of a session, which must outlive pool and arrays. Throws `input_error` if
  /// the page size is odd or there is no room for `min_frames` pages, `error` if there is no
  /// memory.
  explicit frame_pool(session& s, const frame_pool_options& options = {});
  /// The same for memory and files mapped with `client` and `device` as these.
  explicit frame_pool(const mapped_options& mapped, const frame_pool_options& options = {});

  std::uint32_t frames() const;
  std::uint32_t page_bytes() const;
  /// How many arrays share the frames now.
  std::uint32_t arrays() const;

  const std::shared_ptr<detail::frame_memory>& memory() const { return memory_; }

 private:
  std::shared_ptr<detail::frame_memory> memory_;
};

}  // namespace gnstor::host

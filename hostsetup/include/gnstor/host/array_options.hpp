#pragma once

#include <gnstor/array/eviction.hpp>
#include <gnstor/core/duration.hpp>
#include <gnstor/host/former_timeout.hpp>

#include <chrono>
#include <cstdint>

namespace gnstor::host {

class frame_pool;

/// How an array is paged.
struct array_options {
  /// Memory for frames. 0: on a GPU all of the data, or seven eighths of the memory that is free
  /// where that is less, and at least 1 GiB stays free; on the host a quarter of the data. Of a
  /// `pool`'s frames: how many the array takes at most; 0: all.
  std::uint64_t frame_bytes = 0;
  /// 4096 times a power of two, up to 2 MiB; on memory, mapped or a peer's, from 512 on. 0: 4096 on
  /// mapped memory, which is as fast by any page; elsewhere 64 KiB, as a page costs a request.
  std::uint32_t page_bytes = 0;
  duration timeout = std::chrono::seconds(10);         ///< of one element access
  gnstor::eviction eviction = gnstor::eviction::fifo;  ///< which page gives up its frame
  former_timeout timeout_ns{};                         ///< now `timeout`
  /// Frames that the array shares with others, whose page size and `eviction` count then. Null: it
  /// has frames for itself.
  const frame_pool* pool = nullptr;
  std::uint64_t kept_frame_bytes = 0;  ///< of a pool's frames: what no other array takes from it
};

/// The fewest frames an array works with: a warp whose lanes touch 32 pages at once needs them all.
inline constexpr std::uint32_t min_frames = 32;

}  // namespace gnstor::host

#pragma once

#include <gnstor/core/duration.hpp>
#include <gnstor/host/former_timeout.hpp>

#include <chrono>
#include <cstdint>

namespace gnstor::host {

/// How an array is paged.
struct array_options {
  std::uint64_t frame_bytes = 0;         ///< memory for frames; 0: a quarter of the data
  std::uint32_t page_bytes = 64 * 1024;  ///< 4096 times a power of two, up to 2 MiB; on mapped
                                         ///< memory from 512 on
  duration timeout = std::chrono::seconds(10);  ///< of one element access
  former_timeout timeout_ns{};                  ///< now `timeout`
};

/// The fewest frames an array works with: a warp whose lanes touch 32 pages at once needs them all.
inline constexpr std::uint32_t min_frames = 32;

}  // namespace gnstor::host

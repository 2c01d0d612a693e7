#pragma once

#include <deengine/crc32c.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/simt/copy.hpp>

namespace gnstor::detail {

#if defined(__CUDA_ARCH__)

/// Multiplies remainders by what `Bytes` bytes behind them are, with the tables of
/// `crc32c_lane_shift` in registers: the level-1 cache forgets them at every acquire.
template <std::uint32_t Bytes>
struct shift_in_warp {
  std::uint32_t mine[fw::crc32c_lane_shift::tables];

  __device__ explicit shift_in_warp(std::uint32_t lane) {
    static constexpr fw::crc32c_lane_shift table(Bytes);
#pragma unroll
    for (int k = 0; k < fw::crc32c_lane_shift::tables; ++k) mine[k] = table.of[k][lane];
  }
  __device__ std::uint32_t operator()(std::uint32_t remainder) const {
    std::uint32_t product = 0;
#pragma unroll
    for (int k = 0; k < fw::crc32c_lane_shift::tables; ++k)
      product ^= __shfl_sync(0xffffffff, mine[k], static_cast<int>(remainder >> (5 * k) & 31));
    return product;
  }
};

/// Multiplies the remainder of a lane's 16 bytes by what is behind them in a row of 512, and by the
/// word that every remainder is ahead of its message.
struct row_end_in_warp {
  std::uint32_t mine[fw::crc32c_lane_factors::parts];

  __device__ explicit row_end_in_warp(std::uint32_t lane) {
    static constexpr fw::crc32c_lane_factors table(16 * 31 + 4, 16);
#pragma unroll
    for (int k = 0; k < fw::crc32c_lane_factors::parts; ++k) mine[k] = table.of[k][lane];
  }
  __device__ std::uint32_t operator()(std::uint32_t remainder) const {
    std::uint32_t factor[fw::crc32c_lane_factors::parts];
    std::uint32_t product = 0;
#pragma unroll
    for (int bit = 0; bit < 8; ++bit) {
#pragma unroll
      for (int k = 0; k < fw::crc32c_lane_factors::parts; ++k) {
        factor[k] = bit == 0 ? mine[k] : fw::crc32c_field::next(factor[k]);
        product ^= (remainder >> (31 - 8 * k - bit) & 1) != 0 ? factor[k] : 0;
      }
    }
    return product;
  }
};

/// A page in the registers of a whole warp: lane L has the 16 bytes at 512 * k + 16 * L in
/// `part[k]`.
struct page_in_warp {
  static constexpr int parts = block_bytes / 512;
  simt::word16 part[parts];

  __device__ void load(const void* from, std::uint32_t lane) {
    const char* at = static_cast<const char*>(from) + 16 * lane;
#pragma unroll
    for (int k = 0; k < parts; ++k) part[k] = simt::load16(at + 512 * k);
  }
  __device__ void store(void* to, std::uint32_t lane) const {
    char* at = static_cast<char*>(to) + 16 * lane;
#pragma unroll
    for (int k = 0; k < parts; ++k) simt::store16(at + 512 * k, part[k]);
  }
  /// The CRC-32C of the page, in every lane: each lane reduces its own columns of the page, and the
  /// columns are added where they belong.
  __device__ std::uint32_t crc(std::uint32_t lane, const shift_in_warp<512>& row) const {
    std::uint32_t sum[4] = {lane == 0 ? 0xffffffffu : 0, 0, 0, 0};
#pragma unroll
    for (int k = 0; k < parts; ++k) {
#pragma unroll
      for (int c = 0; c < 4; ++c) sum[c] = (k == 0 ? sum[c] : row(sum[c])) ^ part[k].w[c];
    }
    // Not before the page's registers are free: with these tables in others, some would spill.
    asm volatile("" ::: "memory");
    const shift_in_warp<4> word(lane);
    const row_end_in_warp to_row_end(lane);
    std::uint32_t column = sum[0];
#pragma unroll
    for (int c = 1; c < 4; ++c) column = word(column) ^ sum[c];
    return ~__reduce_xor_sync(0xffffffff, to_row_end(column));
  }
};

#else

/// The CRC-32C of a page by the instruction of SSE 4.2: four quarters at once, as each instruction
/// waits for the one before it.
#if defined(__x86_64__)
__attribute__((target("sse4.2"))) inline std::uint32_t page_crc_sse42(const void* page) {
  static constexpr std::uint32_t quarter = block_bytes / 4;
  static constexpr fw::crc32c_shift behind(quarter);
  std::uint64_t sum[4] = {0xffffffff, 0, 0, 0};
  for (std::uint32_t at = 0; at < quarter; at += 8) {
    for (std::uint32_t q = 0; q < 4; ++q) {
      std::uint64_t next = 0;
      std::memcpy(&next, static_cast<const char*>(page) + q * quarter + at, sizeof next);
      sum[q] = __builtin_ia32_crc32di(sum[q], next);
    }
  }
  auto remainder = static_cast<std::uint32_t>(sum[0]);
  for (int q = 1; q < 4; ++q) remainder = behind(remainder) ^ static_cast<std::uint32_t>(sum[q]);
  return ~remainder;
}
#endif

/// The CRC-32C of a page by this one thread.
inline std::uint32_t page_crc_here(const void* page) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return page_crc_sse42(page);
#endif
  return fw::crc32c(page, block_bytes);
}

#endif

/// The same on either machine; on a GPU, where it takes 100 us, for what is rare.
GNSTOR_HD_SLOW inline std::uint32_t page_crc_alone(const void* page) {
#if defined(__CUDA_ARCH__)
  std::uint32_t remainder = 0xffffffff;
  for (std::uint32_t k = 0; k < block_bytes / 4; ++k) {
    remainder ^= static_cast<const std::uint32_t*>(page)[k];
    for (int bit = 0; bit < 32; ++bit) remainder = fw::crc32c_field::next(remainder);
  }
  return ~remainder;
#else
  return page_crc_here(page);
#endif
}

}  // namespace gnstor::detail

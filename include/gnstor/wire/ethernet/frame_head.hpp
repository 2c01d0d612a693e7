#pragma once

#include <gnstor/core/config.hpp>

#include <cstring>

namespace gnstor::wire::ethernet {

/// The first 64 bytes of a frame, in the hands of one lane.
///
/// Headers lie at even addresses and no better, but frames mostly at multiples of 16: a frame that
/// is read to here, or written from here, costs a GPU an access per 16 bytes, and not one per byte.
struct frame_head {
  static constexpr std::uint32_t most = 64;

  alignas(16) unsigned char at[most];

  /// Reads what a frame of `bytes` has of it; the rest is 0.
  GNSTOR_HD void load(const unsigned char* from, std::uint32_t bytes) {
    std::memset(at, 0, sizeof at);
    const std::uint32_t n = bytes < most ? bytes : most;
#if defined(__CUDA_ARCH__)
    if (is_aligned(from)) return load_aligned(from, n);
#pragma unroll
    for (std::uint32_t k = 0; k < most; ++k)
      if (k < n) at[k] = from[k];
#else
    std::memcpy(at, from, n);
#endif
  }
  /// Writes what a frame of `bytes` has of it.
  GNSTOR_HD void store(unsigned char* to, std::uint32_t bytes) const {
    const std::uint32_t n = bytes < most ? bytes : most;
#if defined(__CUDA_ARCH__)
    if (is_aligned(to)) return store_aligned(to, n);
#pragma unroll
    for (std::uint32_t k = 0; k < most; ++k)
      if (k < n) to[k] = at[k];
#else
    std::memcpy(to, at, n);
#endif
  }

 private:
  struct alignas(16) piece {
    std::uint32_t words[4];
  };
  GNSTOR_HD static bool is_aligned(const unsigned char* p) {
    return reinterpret_cast<std::uintptr_t>(p) % sizeof(piece) == 0;
  }

#if defined(__CUDA_ARCH__)
  // Unrolled, and in halves of words, as the fields of headers lie: then `at` is in registers.
  __device__ std::uint32_t word(std::uint32_t w) const {
    std::uint16_t low;
    std::uint16_t high;
    std::memcpy(&low, at + 4 * w, sizeof low);
    std::memcpy(&high, at + 4 * w + 2, sizeof high);
    return std::uint32_t{high} << 16 | low;
  }
  __device__ void set_word(std::uint32_t w, std::uint32_t value) {
    const auto low = static_cast<std::uint16_t>(value);
    const auto high = static_cast<std::uint16_t>(value >> 16);
    std::memcpy(at + 4 * w, &low, sizeof low);
    std::memcpy(at + 4 * w + 2, &high, sizeof high);
  }
  __device__ void load_aligned(const unsigned char* from, std::uint32_t n) {
#pragma unroll
    for (std::uint32_t k = 0; k < most / 16; ++k) {
      piece p;
      if (16 * k + 16 <= n) {
        p = reinterpret_cast<const piece*>(from)[k];
      } else {
#pragma unroll
        for (std::uint32_t w = 0; w < 4; ++w) p.words[w] = partial_word(from, 4 * k + w, n);
      }
#pragma unroll
      for (std::uint32_t w = 0; w < 4; ++w) set_word(4 * k + w, p.words[w]);
    }
  }
  __device__ void store_aligned(unsigned char* to, std::uint32_t n) const {
#pragma unroll
    for (std::uint32_t k = 0; k < most / 16; ++k) {
      if (16 * k + 16 <= n) {
        reinterpret_cast<piece*>(to)[k] =
            piece{word(4 * k), word(4 * k + 1), word(4 * k + 2), word(4 * k + 3)};
      } else {
#pragma unroll
        for (std::uint32_t w = 4 * k; w < 4 * k + 4; ++w) {
          if (4 * w + 4 <= n) {
            reinterpret_cast<std::uint32_t*>(to)[w] = word(w);
          } else {
#pragma unroll
            for (std::uint32_t b = 4 * w; b < 4 * w + 3; ++b)
              if (b < n) to[b] = static_cast<unsigned char>(word(w) >> 8 * (b % 4));
          }
        }
      }
    }
  }
  /// Word `w` of `n` bytes, which may not have all of it.
  __device__ static std::uint32_t partial_word(const unsigned char* from, std::uint32_t w,
                                               std::uint32_t n) {
    if (4 * w + 4 <= n) return reinterpret_cast<const std::uint32_t*>(from)[w];
    std::uint32_t word = 0;
#pragma unroll
    for (std::uint32_t b = 4 * w; b < 4 * w + 3; ++b)
      if (b < n) word |= std::uint32_t{from[b]} << 8 * (b % 4);
    return word;
  }
#endif
};

static_assert(sizeof(frame_head) == 64);

}  // namespace gnstor::wire::ethernet

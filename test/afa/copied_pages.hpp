#pragma once
/// Pages that a warp copies, with the CRC of each; run on both machines.

#include <afa/page_copy.hpp>
#include <gnstor/core/hash.hpp>
#include <gnstor/simt/lane.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace gnstor::test {

inline constexpr std::uint32_t crc_pages = 6;
inline constexpr std::uint32_t crc_stride = block_bytes + 16;  ///< room for any alignment

/// A page copied into flash, and out of it again.
struct crc_record {
  std::uint32_t in;
  std::uint32_t out;
};

/// One warp per page. Page k of the client's memory begins k bytes behind an aligned address.
struct page_copier {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, unsigned char* memory, unsigned char* flash,
                            unsigned char* back, crc_record* records) const {
    const simt::group g = simt::group::whole_warp();
    const std::uint32_t k = lane.block();
    auto* page = flash + std::size_t{k} * block_bytes;
    const std::size_t skewed = std::size_t{k} * crc_stride + k;
    const std::uint32_t in = fw::copy_page(g, page, memory + skewed, true);
    g.sync();
    const std::uint32_t out = fw::copy_page(g, page, back + skewed, false);
    if (g.leads()) records[k] = {in, out};
  }
};

inline std::vector<unsigned char> crc_memory() {
  std::vector<unsigned char> bytes(std::size_t{crc_pages} * crc_stride);
  for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<unsigned char>(mix64(k));
  return bytes;
}

/// Each page came through, and its CRC is that of RFC 3720's definition, bit by bit.
inline void check_crcs(const std::vector<unsigned char>& memory, const unsigned char* back,
                       const crc_record* records) {
  for (std::uint32_t k = 0; k < crc_pages; ++k) {
    CAPTURE(k);
    const std::size_t at = std::size_t{k} * crc_stride + k;
    std::uint32_t remainder = 0xffffffff;
    for (std::uint32_t b = 0; b < block_bytes; ++b) {
      remainder ^= memory[at + b];
      for (int bit = 0; bit < 8; ++bit)
        remainder = remainder >> 1 ^ ((remainder & 1) != 0 ? 0x82f63b78u : 0);
    }
    CHECK(records[k].in == ~remainder);
    CHECK(records[k].out == ~remainder);
    CHECK(std::memcmp(back + at, memory.data() + at, block_bytes) == 0);
  }
}

}  // namespace gnstor::test

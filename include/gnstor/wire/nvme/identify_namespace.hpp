#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::nvme {

inline constexpr std::uint8_t nmic_shared = 1u << 0;  ///< `nmic`: by several controllers
inline constexpr std::uint8_t dps_type_mask = 0x7;    ///< `dps`: protection information in use
inline constexpr std::uint8_t dlfeat_reads_zeroes = 1u << 0;  ///< deallocated blocks do
inline constexpr std::uint8_t dlfeat_write_zeroes = 1u << 3;  ///< it takes the deallocate bit
inline constexpr std::uint8_t nsattr_write_protected = 1u << 0;

/// One way in which a namespace can be formatted. NVM Command Set 1.2, 4.1.5.1, "LBA Format".
struct lba_format {
  std::uint16_t metadata_bytes;  ///< beside each block
  std::uint8_t data_shift;       ///< a block has 2^data_shift bytes; 0: the format is not there
  std::uint8_t performance;
};

/// What a namespace is: the answer to Identify with CNS 00h. NVM Command Set 1.2, 4.1.5.1.
///
/// Fields that neither side of gnstor reads or sets are reserved here.
struct identify_namespace {
  std::uint64_t nsze;  ///< size in blocks
  std::uint64_t ncap;  ///< blocks that can be written
  std::uint64_t nuse;  ///< blocks in use
  std::uint8_t nsfeat;
  std::uint8_t nlbaf;  ///< number of formats, zero based
  std::uint8_t flbas;  ///< format in use: bits 3:0, and 6:5 above them; bit 4: metadata is inline
  std::uint8_t mc;
  std::uint8_t dpc;
  std::uint8_t dps;   ///< `dps_*`
  std::uint8_t nmic;  ///< `nmic_*`
  std::uint8_t rescap;
  std::uint8_t fpi;
  std::uint8_t dlfeat;  ///< `dlfeat_*`
  std::uint8_t reserved34[12];
  std::uint16_t noiob;
  std::uint8_t reserved48[51];
  std::uint8_t nsattr;  ///< `nsattr_*`
  std::uint8_t reserved100[4];
  std::uint8_t nguid[16];
  std::uint8_t eui64[8];
  lba_format lbaf[64];
  std::uint8_t reserved384[3712];

  /// The format in use.
  GNSTOR_HD constexpr const lba_format& format() const {
    return lbaf[(flbas & 0xf) | (nlbaf > 15 ? (flbas >> 5 & 3) << 4 : 0)];
  }
};

static_assert(sizeof(lba_format) == 4 && offsetof(lba_format, data_shift) == 2);
static_assert(sizeof(identify_namespace) == 4096 && std::is_trivial_v<identify_namespace>);
static_assert(offsetof(identify_namespace, ncap) == 8);
static_assert(offsetof(identify_namespace, nuse) == 16);
static_assert(offsetof(identify_namespace, nlbaf) == 25);
static_assert(offsetof(identify_namespace, flbas) == 26);
static_assert(offsetof(identify_namespace, dps) == 29);
static_assert(offsetof(identify_namespace, nmic) == 30);
static_assert(offsetof(identify_namespace, dlfeat) == 33);
static_assert(offsetof(identify_namespace, noiob) == 46);
static_assert(offsetof(identify_namespace, nsattr) == 99);
static_assert(offsetof(identify_namespace, nguid) == 104);
static_assert(offsetof(identify_namespace, eui64) == 120);
static_assert(offsetof(identify_namespace, lbaf) == 128);

}  // namespace gnstor::wire::nvme

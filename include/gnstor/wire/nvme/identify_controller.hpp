#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::nvme {

inline constexpr std::uint32_t sgls_supported_mask = 0x3;  ///< `sgls` bits 1:0: 0 is none
inline constexpr std::uint32_t sgls_keyed = 1u << 2;       ///< keyed data blocks
inline constexpr std::uint32_t sgls_in_capsule_offset = 1u << 20;

/// What a controller says of itself: the answer to Identify with CNS 01h. NVMe
/// Base 2.3, 5.1.13.2.1.
///
/// Fields that no side of gnstor reads are reserved here.
struct identify_controller {
  std::uint16_t vid;
  std::uint16_t ssvid;
  char sn[20];  ///< ASCII, padded with blanks
  char mn[40];
  char fr[8];
  std::uint8_t rab;
  std::uint8_t ieee[3];
  std::uint8_t cmic;
  std::uint8_t mdts;  ///< the largest transfer is 2^mdts pages of CAP.MPSMIN; 0: any
  std::uint16_t cntlid;
  std::uint32_t ver;
  std::uint32_t rtd3r;
  std::uint32_t rtd3e;
  std::uint32_t oaes;  ///< asynchronous events the controller can send
  std::uint32_t ctratt;
  std::uint8_t reserved100[11];
  std::uint8_t cntrltype;  ///< 1 is an I/O controller, 2 a discovery controller
  std::uint8_t reserved112[144];
  std::uint16_t oacs;
  std::uint8_t acl;   ///< aborts in flight, zero based
  std::uint8_t aerl;  ///< asynchronous event requests in flight, zero based
  std::uint8_t frmw;
  std::uint8_t lpa;
  std::uint8_t elpe;
  std::uint8_t npss;
  std::uint8_t reserved264[56];
  std::uint16_t kas;  ///< granularity of the keep alive timeout in 100 ms; 0: no keep alive
  std::uint8_t reserved322[190];
  std::uint8_t sqes;
  std::uint8_t cqes;
  std::uint16_t maxcmd;  ///< commands in flight on one queue at most; 0: not said
  std::uint32_t nn;      ///< largest namespace id
  std::uint16_t oncs;    ///< optional commands, `oncs_*`
  std::uint16_t fuses;
  std::uint8_t fna;
  std::uint8_t vwc;  ///< bit 0: a write cache that Flush empties
  std::uint16_t awun;
  std::uint16_t awupf;
  std::uint8_t icsvscc;
  std::uint8_t nwpc;
  std::uint16_t acwu;
  std::uint16_t ocfs;
  std::uint32_t sgls;
  std::uint32_t mnan;
  std::uint8_t reserved544[224];
  char subnqn[256];  ///< UTF-8, zero terminated
  std::uint8_t reserved1024[768];
  std::uint32_t ioccsz;  ///< largest command capsule of an I/O queue in 16 bytes, at least 4
  std::uint32_t iorcsz;  ///< largest response capsule in 16 bytes, at least 1
  std::uint16_t icdoff;  ///< where in-capsule data starts behind the entry, in 16 bytes
  std::uint8_t fcatt;    ///< bit 0: the subsystem makes controllers statically
  std::uint8_t msdbd;    ///< SGL data blocks a command may have; 0: any
  std::uint16_t ofcs;
  std::uint8_t reserved1806[2290];
};

inline constexpr std::uint16_t oncs_dataset_management = 1u << 2;
inline constexpr std::uint16_t oncs_write_zeroes = 1u << 3;

static_assert(sizeof(identify_controller) == 4096 && std::is_trivial_v<identify_controller>);
static_assert(offsetof(identify_controller, sn) == 4);
static_assert(offsetof(identify_controller, mn) == 24);
static_assert(offsetof(identify_controller, fr) == 64);
static_assert(offsetof(identify_controller, mdts) == 77);
static_assert(offsetof(identify_controller, cntlid) == 78);
static_assert(offsetof(identify_controller, ver) == 80);
static_assert(offsetof(identify_controller, oaes) == 92);
static_assert(offsetof(identify_controller, cntrltype) == 111);
static_assert(offsetof(identify_controller, oacs) == 256);
static_assert(offsetof(identify_controller, aerl) == 259);
static_assert(offsetof(identify_controller, kas) == 320);
static_assert(offsetof(identify_controller, sqes) == 512);
static_assert(offsetof(identify_controller, maxcmd) == 514);
static_assert(offsetof(identify_controller, nn) == 516);
static_assert(offsetof(identify_controller, oncs) == 520);
static_assert(offsetof(identify_controller, sgls) == 536);
static_assert(offsetof(identify_controller, subnqn) == 768);
static_assert(offsetof(identify_controller, ioccsz) == 1792);
static_assert(offsetof(identify_controller, iorcsz) == 1796);
static_assert(offsetof(identify_controller, icdoff) == 1800);
static_assert(offsetof(identify_controller, fcatt) == 1802);
static_assert(offsetof(identify_controller, msdbd) == 1803);

}  // namespace gnstor::wire::nvme

#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::nvme {

inline constexpr std::uint8_t cmic_controllers = 1u << 1;      ///< `cmic`: there may be several
inline constexpr std::uint32_t ctratt_long_host_id = 1u << 0;  ///< 128 bits
inline constexpr std::uint32_t ctratt_traffic_keeps_alive = 1u << 6;  ///< as a Keep Alive does
inline constexpr std::uint8_t cntrltype_io = 1;
inline constexpr std::uint8_t cntrltype_discovery = 2;
inline constexpr std::uint8_t frmw_first_read_only = 1u << 0;  ///< firmware slot 1 is
inline constexpr std::uint8_t frmw_one_slot = 1u << 1;         ///< bits 3:1: the number of slots
inline constexpr std::uint8_t lpa_commands = 1u << 1;          ///< the log of commands and effects
inline constexpr std::uint8_t lpa_extended = 1u << 2;          ///< offsets, lengths of 32 bits
inline constexpr std::uint8_t sqes_64_bytes = 0x66;  ///< exponents: the largest, the required
inline constexpr std::uint8_t cqes_16_bytes = 0x44;
inline constexpr std::uint16_t oncs_dataset_management = 1u << 2;
inline constexpr std::uint16_t oncs_write_zeroes = 1u << 3;
inline constexpr std::uint8_t vwc_present = 1u << 0;       ///< a write cache that Flush empties
inline constexpr std::uint8_t vwc_flush_all = 3u << 1;     ///< Flush takes the id of all namespaces
inline constexpr std::uint32_t sgls_supported = 1;         ///< of any alignment
inline constexpr std::uint32_t sgls_supported_mask = 0x3;  ///< `sgls` bits 1:0: 0 is none
inline constexpr std::uint32_t sgls_keyed = 1u << 2;       ///< keyed data blocks
inline constexpr std::uint32_t sgls_in_capsule_offset = 1u << 20;
inline constexpr std::uint32_t capsule_unit_bytes = 16;   ///< of `ioccsz`, `iorcsz` and `icdoff`
inline constexpr std::uint32_t keep_alive_unit_ms = 100;  ///< of `kas`

/// What a controller says of itself: the answer to Identify with CNS 01h. NVMe
/// Base 2.3, 5.1.13.2.1.
///
/// Fields that neither side of gnstor reads or sets are reserved here.
struct identify_controller {
  std::uint16_t vid;
  std::uint16_t ssvid;
  char sn[20];  ///< ASCII, padded with blanks
  char mn[40];
  char fr[8];
  std::uint8_t rab;  ///< arbitration burst that suits it: 2^rab commands
  std::uint8_t ieee[3];
  std::uint8_t cmic;  ///< `cmic_*`
  std::uint8_t mdts;  ///< the largest transfer is 2^mdts pages of CAP.MPSMIN; 0: any
  std::uint16_t cntlid;
  std::uint32_t ver;  ///< as property VS
  std::uint32_t rtd3r;
  std::uint32_t rtd3e;
  std::uint32_t oaes;    ///< asynchronous events the controller can send
  std::uint32_t ctratt;  ///< `ctratt_*`
  std::uint8_t reserved100[11];
  std::uint8_t cntrltype;  ///< `cntrltype_*`
  std::uint8_t reserved112[144];
  std::uint16_t oacs;
  std::uint8_t acl;   ///< aborts in flight, zero based
  std::uint8_t aerl;  ///< asynchronous event requests in flight, zero based
  std::uint8_t frmw;  ///< `frmw_*`
  std::uint8_t lpa;   ///< `lpa_*`
  std::uint8_t elpe;
  std::uint8_t npss;
  std::uint8_t avscc;
  std::uint8_t apsta;
  std::uint16_t wctemp;  ///< kelvin, from which on it is too warm
  std::uint16_t cctemp;  ///< kelvin, from which on it cannot work
  std::uint8_t reserved270[50];
  std::uint16_t kas;  ///< granularity of the keep alive timeout in 100 ms; 0: no keep alive
  std::uint8_t reserved322[190];
  std::uint8_t sqes;     ///< entry of a submission queue: `sqes_64_bytes`
  std::uint8_t cqes;     ///< of a completion queue: `cqes_16_bytes`
  std::uint16_t maxcmd;  ///< commands in flight on one queue at most; 0: not said
  std::uint32_t nn;      ///< largest namespace id
  std::uint16_t oncs;    ///< optional commands, `oncs_*`
  std::uint16_t fuses;
  std::uint8_t fna;
  std::uint8_t vwc;  ///< `vwc_*`
  std::uint16_t awun;
  std::uint16_t awupf;
  std::uint8_t icsvscc;
  std::uint8_t nwpc;
  std::uint16_t acwu;
  std::uint16_t ocfs;
  std::uint32_t sgls;  ///< `sgls_*`
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
  std::uint8_t reserved1806[1266];
  std::uint64_t association;  ///< the vendor's: of GNStor's arrays, the association's number for
                              ///< life; 0: it has none
  std::uint8_t vendor_specific[1016];
};

static_assert(sizeof(identify_controller) == 4096 && std::is_trivial_v<identify_controller>);
static_assert(offsetof(identify_controller, sn) == 4);
static_assert(offsetof(identify_controller, mn) == 24);
static_assert(offsetof(identify_controller, fr) == 64);
static_assert(offsetof(identify_controller, rab) == 72);
static_assert(offsetof(identify_controller, cmic) == 76);
static_assert(offsetof(identify_controller, mdts) == 77);
static_assert(offsetof(identify_controller, cntlid) == 78);
static_assert(offsetof(identify_controller, ver) == 80);
static_assert(offsetof(identify_controller, oaes) == 92);
static_assert(offsetof(identify_controller, ctratt) == 96);
static_assert(offsetof(identify_controller, cntrltype) == 111);
static_assert(offsetof(identify_controller, oacs) == 256);
static_assert(offsetof(identify_controller, acl) == 258);
static_assert(offsetof(identify_controller, aerl) == 259);
static_assert(offsetof(identify_controller, frmw) == 260);
static_assert(offsetof(identify_controller, lpa) == 261);
static_assert(offsetof(identify_controller, wctemp) == 266);
static_assert(offsetof(identify_controller, cctemp) == 268);
static_assert(offsetof(identify_controller, kas) == 320);
static_assert(offsetof(identify_controller, sqes) == 512);
static_assert(offsetof(identify_controller, cqes) == 513);
static_assert(offsetof(identify_controller, maxcmd) == 514);
static_assert(offsetof(identify_controller, nn) == 516);
static_assert(offsetof(identify_controller, oncs) == 520);
static_assert(offsetof(identify_controller, vwc) == 525);
static_assert(offsetof(identify_controller, sgls) == 536);
static_assert(offsetof(identify_controller, subnqn) == 768);
static_assert(offsetof(identify_controller, ioccsz) == 1792);
static_assert(offsetof(identify_controller, iorcsz) == 1796);
static_assert(offsetof(identify_controller, icdoff) == 1800);
static_assert(offsetof(identify_controller, fcatt) == 1802);
static_assert(offsetof(identify_controller, msdbd) == 1803);
static_assert(offsetof(identify_controller, association) == 3072);

}  // namespace gnstor::wire::nvme

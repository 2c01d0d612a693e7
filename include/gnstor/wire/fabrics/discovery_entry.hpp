#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::fabrics {

inline constexpr std::uint8_t transport_rdma = 1;
inline constexpr std::uint8_t transport_tcp = 3;
inline constexpr std::uint8_t address_ipv4 = 1;
inline constexpr std::uint8_t address_ipv6 = 2;
inline constexpr std::uint8_t channel_not_secured = 2;  ///< `treq`: no secure channel is required
inline constexpr std::uint16_t min_admin_entries = 32;  ///< of every admin queue
inline constexpr std::uint8_t rdma_connected = 1;       ///< `qptype`: reliable connected
inline constexpr std::uint8_t rdma_any_provider = 1;    ///< `prtype`: not said
inline constexpr std::uint8_t rdma_cm = 1;              ///< `cms`: connections by RDMA CM
inline constexpr std::uint8_t subsystem_referral = 1;   ///< another discovery service
inline constexpr std::uint8_t subsystem_nvm = 2;        ///< a subsystem with namespaces
inline constexpr std::uint8_t subsystem_discovery = 3;  ///< the discovery service asked

/// One subsystem at one address: an entry of the discovery log page. NVMe Base 2.3, 5.1.12.3.1.
struct discovery_entry {
  /// Transport specific settings of RDMA. NVMe RDMA Transport 1.1, "Transport Specific Address
  /// Subtype".
  struct rdma_settings {
    std::uint8_t qptype;
    std::uint8_t prtype;
    std::uint8_t cms;
    std::uint8_t reserved3[253];
  };

  std::uint8_t trtype;
  std::uint8_t adrfam;
  std::uint8_t subtype;
  std::uint8_t treq;
  std::uint16_t portid;
  std::uint16_t cntlid;  ///< FFFFh: made by Connect
  std::uint16_t asqsz;   ///< entries of the admin queue at most
  std::uint16_t eflags;
  std::uint8_t reserved12[20];
  char trsvcid[32];  ///< port, ASCII, padded with blanks
  std::uint8_t reserved64[192];
  char subnqn[256];    ///< zero terminated
  char traddr[256];    ///< address, ASCII, padded with blanks
  rdma_settings tsas;  ///< of RDMA
};

static_assert(sizeof(discovery_entry) == 1024 && std::is_trivial_v<discovery_entry>);
static_assert(offsetof(discovery_entry, adrfam) == 1);
static_assert(offsetof(discovery_entry, subtype) == 2);
static_assert(offsetof(discovery_entry, treq) == 3);
static_assert(offsetof(discovery_entry, portid) == 4);
static_assert(offsetof(discovery_entry, cntlid) == 6);
static_assert(offsetof(discovery_entry, asqsz) == 8);
static_assert(offsetof(discovery_entry, trsvcid) == 32);
static_assert(offsetof(discovery_entry, subnqn) == 256);
static_assert(offsetof(discovery_entry, traddr) == 512);
static_assert(offsetof(discovery_entry, tsas) == 768);
static_assert(sizeof(discovery_entry::rdma_settings) == 256);
static_assert(offsetof(discovery_entry::rdma_settings, cms) == 2);

}  // namespace gnstor::wire::fabrics

#pragma once
/// Weighted round robin with urgent priority class: queue priorities and the Arbitration feature.
/// NVMe Base 2.3, 3.4.4.2 and 5.1.25.1.1.

#include <gnstor/core/config.hpp>

namespace gnstor::wire::nvme {

inline constexpr std::uint8_t feature_arbitration = 0x01;

/// Priority class of a submission queue, as Fabrics Connect carries it (CATTR bits 1:0), and the
/// admin queue's, which is before all and on no wire.
enum class queue_class : std::uint8_t { urgent = 0, high = 1, medium = 2, low = 3, admin = 4 };

/// Weights and burst, as Set Features (Arbitration) carries them in CDW11.
struct arbitration {
  std::uint8_t burst_log2 = 7;  ///< AB: commands of one queue at a time, 2^n; 7: no limit
  std::uint8_t low = 0;         ///< LPW: weight of the class, minus 1
  std::uint8_t medium = 0;      ///< MPW
  std::uint8_t high = 0;        ///< HPW

  /// @param cdw11 of the command
  GNSTOR_HD static constexpr arbitration unpack(std::uint32_t cdw11) {
    return {static_cast<std::uint8_t>(cdw11 & 7), static_cast<std::uint8_t>(cdw11 >> 8),
            static_cast<std::uint8_t>(cdw11 >> 16), static_cast<std::uint8_t>(cdw11 >> 24)};
  }
  GNSTOR_HD constexpr std::uint32_t pack() const {
    return burst_log2 | static_cast<std::uint32_t>(low) << 8 |
           static_cast<std::uint32_t>(medium) << 16 | static_cast<std::uint32_t>(high) << 24;
  }
  GNSTOR_HD constexpr std::uint32_t weight(queue_class c) const {
    return 1u + (c == queue_class::high ? high : c == queue_class::medium ? medium : low);
  }
  GNSTOR_HD constexpr std::uint32_t burst() const {
    return burst_log2 == 7 ? ~0u : 1u << burst_log2;
  }
  friend constexpr bool operator==(const arbitration&, const arbitration&) = default;
};

static_assert(arbitration::unpack(0x07030100).weight(queue_class::high) == 8);

}  // namespace gnstor::wire::nvme

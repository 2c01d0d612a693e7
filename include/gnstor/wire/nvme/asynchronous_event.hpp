#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::nvme {

/// The answer to an Asynchronous Event Request: DW0 of its response. NVMe Base 2.3, 5.1.2.1.
struct asynchronous_event {
  std::uint8_t type;      ///< `event_type_*`
  std::uint8_t code;      ///< within the type
  std::uint8_t log_page;  ///< reading it makes room for the next event of this type

  GNSTOR_HD static constexpr asynchronous_event from(std::uint32_t dw0) {
    return {static_cast<std::uint8_t>(dw0 & 7), static_cast<std::uint8_t>(dw0 >> 8),
            static_cast<std::uint8_t>(dw0 >> 16)};
  }
  GNSTOR_HD constexpr std::uint32_t dw0() const {
    return std::uint32_t{type} | std::uint32_t{code} << 8 | std::uint32_t{log_page} << 16;
  }
};

inline constexpr std::uint8_t event_type_error = 0;
inline constexpr std::uint8_t event_type_health = 1;
inline constexpr std::uint8_t event_type_notice = 2;
inline constexpr std::uint8_t notice_namespace_changed = 0x00;
inline constexpr std::uint8_t notice_discovery_changed = 0xf0;

static_assert(asynchronous_event::from(0x00040002).log_page == 4);
static_assert(asynchronous_event::from(0x00040002).dw0() == 0x00040002);

}  // namespace gnstor::wire::nvme

#pragma once

#include <afa/node.hpp>
#include <deengine/page_crc.hpp>

namespace gnstor::fw {

/// How a read ends whose data is not what was written.
inline constexpr std::uint16_t damaged_page =
    wire::nvme::make_status(wire::nvme::media_status::unrecovered_read_error);

/// Copies a page of flash to a client's memory and compares it with its CRC.
/// @param expected of the page: `engine_ref::seal_of`
/// @par Callers as `copy_page`, within the page's grace period or pin
/// @par Result in every lane: true if it is what was written
GNSTOR_HD inline bool checked_read(const simt::group& g, void* flash, void* memory,
                                   std::uint32_t expected) {
  const std::uint32_t found = copy_page(g, flash, memory, false);
  return g.broadcast(static_cast<std::uint32_t>(found == expected)) != 0;
}

}  // namespace gnstor::fw

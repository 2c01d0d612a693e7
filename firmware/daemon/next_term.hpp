#pragma once

#include <cstdint>

namespace gnstor::daemon {

/// The term of a manager that takes an array over: later than any that its SSDs know. Its last 16
/// bits are drawn, so that of two managers that follow the same one, and reach different SSDs, each
/// has a term of its own.
/// @param former the latest that an SSD which answers knows
constexpr std::uint64_t next_term(std::uint64_t former, std::uint16_t drawn) {
  return ((former >> 16) + 1) << 16 | drawn;
}

static_assert(next_term(7, 0) > 7 && next_term(0x1ffff, 0) > 0x1ffff);

}  // namespace gnstor::daemon

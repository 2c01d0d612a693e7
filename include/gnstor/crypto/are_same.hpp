#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::inline v0::crypto {

/// Compares secrets: the time does not depend on where they differ.
GNSTOR_HD constexpr bool are_same(const unsigned char* a, const unsigned char* b,
                                  std::uint32_t bytes) {
  std::uint32_t differences = 0;
  for (std::uint32_t k = 0; k < bytes; ++k) differences |= static_cast<std::uint32_t>(a[k] ^ b[k]);
  return differences == 0;
}

}  // namespace gnstor::inline v0::crypto

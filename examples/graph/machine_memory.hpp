#pragma once

#include <unistd.h>

#include <cstdint>

namespace graph {

/// Whether this machine has that much memory at all. Linux promises more, and ends the process
/// later.
inline bool fits_memory(std::uint64_t bytes) {
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  return bytes <= pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace graph

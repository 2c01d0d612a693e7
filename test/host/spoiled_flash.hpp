#pragma once
/// Flash files that are changed under the firmware that runs on them.

#include <deengine/layout.hpp>

#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>

namespace gnstor::test {

/// Makes the counts of live pages of SSD 0 wrong, so that the firmware's next overwrite ends by an
/// assertion.
inline void spoil_counts(const std::string& folder, const fw::geometry& g) {
  std::fstream file(folder + "/ssd0.flash", std::ios::in | std::ios::out | std::ios::binary);
  const std::uint32_t wrong = ~0u;  // one more is none
  for (std::uint32_t b = 0; b < g.blocks(); ++b) {
    file.seekp(static_cast<std::streamoff>(fw::layout::of(g).blocks + b * sizeof(fw::block_state) +
                                           offsetof(fw::block_state, live)));
    file.write(reinterpret_cast<const char*>(&wrong), sizeof wrong);
  }
  if (!file.flush()) throw std::runtime_error("cannot change " + folder + "/ssd0.flash");
}

}  // namespace gnstor::test

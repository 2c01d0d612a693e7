#pragma once

#include <cstdint>

namespace gnstor::benchmarks {

/// Pages that flash must take for each page of a command, where the block with the fewest live
/// pages is collected and any live page is as likely to be overwritten as any other. Host only.
///
/// A block of b pages loses one of its i live pages after a time of 1 / i. Blocks are taken as soon
/// as j are left; so over a block's life b - j of b (H(b) - H(j)) pages are live on average, which
/// must be the share of all pages that is (Desnoyers 2012; Van Houdt 2013).
/// @param live_share of the pages in use, 0 to below 1
/// @param pages_per_block b
inline double greedy_amplification(double live_share, std::uint32_t pages_per_block) {
  const double b = pages_per_block;
  double harmonic = 0;
  double share_before = 1;
  for (double j = b; j > 0; --j) {
    harmonic += 1 / j;
    const double share = (b - j + 1) / (b * harmonic);
    if (share < live_share) {
      const double part = (share_before - live_share) / (share_before - share);
      return b / (b - j + part);
    }
    share_before = share;
  }
  return 1;
}

}  // namespace gnstor::benchmarks

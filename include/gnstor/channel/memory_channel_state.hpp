#pragma once

#include <gnstor/channel/channel_state.hpp>

namespace gnstor::inline v0 {

/// The shared words of a memory channel beside its queue pair.
///
/// It needs no request table: a reliable connection completes transfers in the order of their
/// indices, so one index says which are done and another which one failed.
struct memory_channel_state {
  channel_state common;                  ///< phase, first error, counters
  alignas(128) std::uint64_t completed;  ///< every transfer before this index is done
  std::uint64_t failed;                  ///< 1 + index of the transfer that failed first; 0: none
  std::uint64_t first;         ///< the first index of the present life; 0 before the first reset
  std::uint64_t former_first;  ///< of the life before the last reset
  std::uint64_t former_end;    ///< every transfer of that life before this index was done
};

static_assert(std::is_trivially_copyable_v<memory_channel_state> &&
              sizeof(memory_channel_state) == 384);

}  // namespace gnstor::inline v0

#pragma once
/// How device templates talk to the host SIMT runtime: one table of functions, set while a lane
/// runs.
///
/// The library depends on this table alone; `hostsetup/simt` fills it. Outside the runtime (a plain
/// CPU thread, for example a firmware thread) it is null, and every construct falls back to a group
/// of one lane.

#include <gnstor/simt/shape.hpp>

namespace gnstor::simt {

/// Thread scope as the host runtime checks it: a word used at `device` scope must stay in one
/// domain.
enum class hook_scope : std::uint8_t { thread, block, device, system };

/// Memory order as the weak mode needs it.
enum class hook_order : std::uint8_t { relaxed, acquire, release, acq_rel };

/// The collectives of a warp. Only `sync` orders memory.
enum class collective : std::uint8_t { sync, ballot, shfl, match_any };

/// Where the running lane is; owned by the runtime.
struct lane_position {
  std::uint32_t thread = 0;         ///< within its block
  std::uint32_t block = 0;          ///< within its grid
  std::uint32_t block_threads = 1;  ///< threads a block
  shape block_shape{};
  shape grid_shape{};
  void* shared = nullptr;  ///< the block's shared memory, aligned to 64 bytes
};

/// The host runtime's entry points. Every function is called on the fiber of the running lane.
struct host_hook {
  /// A scheduling point before or after an atomic operation; `what` is a literal for the lane dump.
  void (*point)(const char* what);
  /// An atomic load: returns the value the lane sees, `now` or, in weak mode, an older legal one.
  std::uint64_t (*load)(const void* word, std::uint64_t now, hook_order order, hook_scope scope);
  /// An atomic store (`rmw` false) or a successful read-modify-write (`rmw` true) took `word` from
  /// `before` to `after`.
  void (*store)(const void* word, std::uint64_t before, std::uint64_t after, bool rmw,
                hook_order order, hook_scope scope);
  /// A thread fence.
  void (*fence)(hook_order order);
  /// A warp collective over the lanes of `mask` (lane numbers, not ranks). The result is by lane
  /// number: ballot and match_any give lane masks, shfl gives the value of lane `source_lane`.
  std::uint64_t (*collective_call)(collective kind, std::uint32_t mask, std::uint64_t value,
                                   int source_lane, const char* file, unsigned line);
  /// The set of lanes of this warp that run together at this call site: any non-empty subset of
  /// those waiting there.
  std::uint32_t (*coalesce)(const char* file, unsigned line);
  /// A barrier over the lanes of the block that have not exited.
  void (*block_sync)(const char* file, unsigned line);
  /// The lane cannot go on now: let others run.
  void (*pause)();
  /// Time in nanoseconds: virtual in the seeded modes.
  std::uint64_t (*now_ns)();
  /// True in the modes where a payload copy must be interruptible every 16 bytes.
  bool fine_payload = false;
  /// Position of the running lane.
  const lane_position* position = nullptr;
};

/// The hook of the lane that runs on this thread, or null outside the runtime.
inline thread_local host_hook* current_hook = nullptr;

}  // namespace gnstor::simt

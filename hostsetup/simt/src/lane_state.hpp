#pragma once
/// What the runtime knows of a lane, and of the warp, block and grid around it.

#include "fiber.hpp"
#include <gnstor/simt/domain.hpp>
#include <gnstor/simt/host_hook.hpp>
#include <gnstor/simt_host/kernel.hpp>

#include <memory>
#include <vector>

namespace gnstor::simt::host {

/// What a lane waits for. The first values are those of `collective`, plus one.
enum class wait_kind : std::uint8_t { none, sync, ballot, shfl, match_any, coalesce, block_sync };

constexpr wait_kind waits_in(collective kind) {
  return static_cast<wait_kind>(static_cast<std::uint8_t>(kind) + 1);
}
static_assert(waits_in(collective::match_any) == wait_kind::match_any);

struct warp_state;

struct lane_state {
  std::unique_ptr<fiber> context;
  lane_position position;
  warp_state* warp = nullptr;
  std::uint32_t index = 0;  ///< within the warp
  std::uint32_t id = 0;     ///< within the run
  wait_kind waits = wait_kind::none;
  bool idle = false;  ///< has exited: the fiber can take another lane
  bool slow = false;  ///< the seed's victim: others overtake it
  unsigned line = 0;  ///< of the wait, with `file`
  const char* file = nullptr;
  const char* last = "start";  ///< last scheduling point
  std::uint64_t value = 0;     ///< brought to a collective
  std::uint64_t result = 0;    ///< taken from it
  int source = 0;              ///< of a shuffle
  lane_state* next = nullptr;  ///< in a queue of the fast scheduler
  tsan_fences fences;
};

/// A collective that some lanes of a warp have reached and others have not.
struct meeting {
  collective kind;
  std::uint32_t mask;
  std::uint32_t arrived;
};

struct block_state;

struct warp_state {
  block_state* block = nullptr;
  std::uint32_t index = 0;   ///< within the block
  std::uint32_t alive = 0;   ///< lanes that have not exited
  std::uint32_t parked = 0;  ///< lanes that wait to form a group
  std::uint32_t in_barrier = 0;
  std::size_t parked_slot = 0;  ///< index in the scheduler's list while `parked` is not 0
  std::vector<meeting> meetings;
  lane_state lanes[32];
};

struct grid_state;

struct block_state {
  grid_state* grid = nullptr;
  std::uint32_t index = 0;    ///< within the grid
  std::uint32_t id = 0;       ///< within the run
  std::uint32_t alive = 0;    ///< threads that have not exited
  std::uint32_t waiting = 0;  ///< of those, threads in the barrier
  void* shared = nullptr;
  std::vector<std::unique_ptr<warp_state>> warps;
};

struct grid_state {
  domain where = domain::gpu0;
  std::uint32_t index = 0;        ///< order of spawn
  std::uint32_t* stop = nullptr;  ///< of a service: set when the last ordinary lane has exited
  bool ends_first = false;        ///< a service that needs others until it has ended
  std::unique_ptr<kernel> body;
  std::unique_ptr<std::byte[]> shared_memory;
  std::vector<block_state> blocks;
};

}  // namespace gnstor::simt::host

#pragma once
/// The memory of a queue pair that reaches several controllers.

#include <gnstor/qp/nvme_pcie_queue_pair.hpp>

namespace gnstor::inline v0 {

/// Controllers that a queue pair reaches at most.
inline constexpr std::uint32_t max_striped_controllers = 16;

/// The words that the lanes of such a queue pair share, each in a line of its own. Its indices
/// count commands, whichever controller they go to; each controller's queue has its own beside.
struct nvme_striped_state {
  alignas(128) std::uint64_t reserved;   ///< send indices handed out
  alignas(128) std::uint64_t published;  ///< send indices whose entries are complete
  alignas(128) std::uint64_t retired;    ///< send indices that may be handed out anew a lap later
  alignas(128) std::uint64_t announced;  ///< send indices that their controllers know
  std::uint64_t closed;                  ///< first index of a life that is not open yet, or 0
  alignas(128) std::uint32_t turn;       ///< the controller whose completions are looked at first
  alignas(128) std::uint32_t lost;       ///< controllers that are gone, by bit: set by the host
};

/// Where each part lies within one block of memory of the lanes: no controller reads it.
struct nvme_striped_layout {
  std::uint64_t state = 0;
  std::uint64_t reservations = 0;
  std::uint64_t queues = 0;  ///< `nvme_pcie_queue_pair<>` of each controller
  std::uint64_t bytes = 0;

  GNSTOR_HD static constexpr nvme_striped_layout of(std::uint32_t depth, std::uint32_t count) {
    nvme_striped_layout l;
    l.reservations = l.state + sizeof(nvme_striped_state);
    l.queues = (l.reservations + std::uint64_t{depth} * sizeof(std::uint64_t) + 127) / 128 * 128;
    l.bytes = (l.queues + count * sizeof(nvme_pcie_queue_pair<>) + 127) / 128 * 128;
    return l;
  }
};

static_assert(std::is_trivially_copyable_v<nvme_striped_state>);
static_assert(nvme_striped_layout::of(128, max_striped_controllers).bytes <= 4096);

}  // namespace gnstor::inline v0

#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::fw {

/// Whether the workers of a queue take commands.
enum class nvme_queue_life : std::uint32_t {
  absent = 0,
  serving,   ///< set by the controller, last: nobody looks at anything else before
  draining,  ///< set by the controller: no command is begun any more
  drained,   ///< set by a worker when none is under way: nothing of the queue is touched any more
};

/// A submission queue and the completion queue of its answers, as the workers share them.
///
/// Commands are fetched in their order by whoever holds the lock bit of `fetched`, and answered in
/// whatever order they end.
struct nvme_queue {
  // set by the controller before `life`
  std::uint64_t submissions = 0;  ///< DMA address
  std::uint64_t completions = 0;  ///< DMA address
  std::uint32_t submission_entries = 0;
  std::uint32_t completion_entries = 0;
  std::uint32_t max_transfer = 0;  ///< bytes
  std::uint32_t id = 0;
  std::uint32_t* tail = nullptr;  ///< doorbells
  std::uint32_t* head = nullptr;
  std::uint32_t same_device = 0;             ///< who uses it are lanes of the workers' own device
  alignas(128) std::uint32_t life = 0;       ///< atomic: `nvme_queue_life`
  alignas(128) std::uint64_t fetched = 0;    ///< atomic: commands fetched * 2, plus 1: locked
  alignas(128) std::uint64_t answering = 0;  ///< atomic: entries of the completion queue claimed
  alignas(128) std::uint64_t ended = 0;      ///< atomic: commands that are dealt with
  std::uint64_t unanswered = 0;              ///< atomic: commands that get no answer
  // statistics, atomic
  alignas(128) std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t faults = 0;         ///< DMA addresses that are not mapped
  std::uint64_t bad_doorbells = 0;  ///< values beyond the queue
};

static_assert(std::is_trivially_copyable_v<nvme_queue> && sizeof(nvme_queue) % 128 == 0);

}  // namespace gnstor::fw

#pragma once

#include <gnstor/core/units.hpp>

#include <type_traits>

namespace gnstor::fw {

class completion_bell;

/// Where a queue pair's rings lie, as the host tells the NIC when it creates the queue pair (what
/// DevX CREATE_QP and CREATE_CQ carry).
struct queue_attributes {
  std::uint64_t send_ring = 0;
  std::uint64_t receive_ring = 0;
  std::uint64_t completion_ring = 0;
  std::uint64_t doorbell_record = 0;
  std::uint64_t doorbell = 0;      ///< the UAR word
  std::uint32_t number = 0;        ///< queue pair number, 24 bits
  std::uint32_t send_entries = 0;  ///< basic blocks; powers of two, as those below
  std::uint32_t receive_entries = 0;
  std::uint32_t completion_entries = 0;
  std::uint32_t domain = 0;  ///< protection domain
  /// cs_res: responses of up to 32 bytes lie in their completion entry, not in their receive.
  std::uint32_t scatter_responses = 0;
  /// The rings are used by lanes of the device that runs the NIC: words are handed over at device
  /// scope.
  std::uint32_t same_device = 0;
  std::uint32_t nic = 0;  ///< which of the machine's NICs the queue pair is of
  /// Of a queue pair of a CPU whose node runs there, too; null: nobody sleeps.
  completion_bell* bell = nullptr;
};

/// The NVMe association that Fabrics Connect bound to a queue pair.
struct association {
  std::uint32_t connected = 0;
  std::uint16_t queue_id = 0;
  std::uint16_t controller = 0;
  client_id client{};
  client_id host{};  ///< by which it may read, too; the same for a host that is no session
};

/// Whether a queue pair's engine works, and on what.
enum class queue_life : std::uint32_t {
  absent = 0,
  serving,   ///< set by the host, last: the engine looks at nothing before
  draining,  ///< set by the host: the engine takes back every command and answers none
  drained,   ///< set by the engine: nothing of the queue is left; the host may let it serve again
  cut,       ///< set by the host: the engine breaks the queue pair, and sets `serving`
};

/// How far a queue pair has come: only its engine touches it.
struct queue_progress {
  std::uint64_t send_head = 0;        ///< next basic block to fetch
  std::uint64_t receive_head = 0;     ///< next receive to use
  std::uint64_t completion_tail = 0;  ///< next completion entry to write
  std::uint64_t doorbell_seen = 0;    ///< acquired
  std::uint64_t done_head = 0;        ///< next finished command to answer
  std::uint32_t receive_tail = 0;     ///< receives posted, as last seen
  std::uint32_t free_commands = 0;    ///< entries of this queue's stack of free command slots
  std::uint32_t work_left = 0;        ///< the last look left entries in the send queue
  std::uint32_t wide = 0;    ///< entries of two basic blocks come in a row: looked for first
  std::uint32_t broken = 0;  ///< the queue pair is in the error state: everything new is flushed
  std::uint32_t rounds = 0;  ///< of the engine
  std::uint32_t reads_away = 0;  ///< about so many reads are with the copy workers
  std::uint32_t waited = 0;      ///< rounds that finished commands have waited for others
  association joined;
};

/// One queue pair of the NIC.
struct alignas(128) queue_context : queue_progress {
  queue_attributes at;
  std::uint32_t active = 0;         ///< `queue_life`
  std::uint32_t lost_commands = 0;  ///< atomic: swallowed by a silent SSD
  std::uint32_t first_lost = 0;     ///< the engine's: command slot of one of them, plus 1; 0: none
};

static_assert(std::is_trivially_copyable_v<queue_context> && sizeof(queue_context) % 128 == 0);

}  // namespace gnstor::fw

#pragma once

#include <afa/durable_medium.hpp>
#include <afa/handle_ring.hpp>
#include <afa/io_command.hpp>
#include <afa/known_host.hpp>
#include <afa/ssd_fault.hpp>
#include <deengine/engine.hpp>
#include <gnstor/wire/nvme/arbitration.hpp>
#include <gnstor/wire/nvme/media_status.hpp>
#include <gnstor/wire/nvme/read_write.hpp>
#include <gnstor/wire/nvme/status.hpp>
#include <hca/memory_region.hpp>
#include <hca/paced_link.hpp>
#include <hca/queue_context.hpp>

#include <cuda/std/bit>

namespace gnstor::fw {

class paced_ssd;
class stream_sender;

/// The capacities of an array node, fixed before it starts.
struct node_shape {
  std::uint32_t max_queues = 16;
  std::uint32_t max_depth = 128;  ///< commands in flight per queue
  std::uint32_t max_regions = 256;
  std::uint32_t max_hosts = 16;
  std::uint32_t ssd_count = 4;
  std::uint32_t shards = 8;  ///< of one SSD
  std::uint32_t copy_workers = 1;
  std::uint32_t epoch = 1;
  std::uint32_t check_reads = 1;  ///< 0: a page's data is not compared with its CRC when it is read
  std::uint32_t paced = 0;  ///< 1: I/O ends when the timing models of the SSDs say so; on CPUs
  std::uint32_t sends = 0;  ///< 1: data of reads leaves by the NICs' `stream_sender`s; on CPUs
  std::uint32_t transfer_blocks = max_transfer_blocks;  ///< of one command; a power of two; on CPUs
  std::uint32_t nics = 1;  ///< a power of two; a NIC's copy workers have its number modulo `nics`
  std::uint64_t page_cost = 0;  ///< of one page on a NIC's `paced_link`; 0: NICs are not paced

  GNSTOR_HD constexpr std::uint32_t commands() const { return max_queues * max_depth; }
  GNSTOR_HD constexpr std::uint32_t inboxes() const { return ssd_count * shards; }
  /// Engines that need an owner, in this order: copy workers, shards, queues, pacers, senders.
  GNSTOR_HD constexpr std::uint32_t roles() const { return first_sender() + senders(); }
  GNSTOR_HD constexpr std::uint32_t first_queue() const { return copy_workers + inboxes(); }
  GNSTOR_HD constexpr std::uint32_t first_pacer() const { return first_queue() + max_queues; }
  GNSTOR_HD constexpr std::uint32_t pacers() const { return paced != 0 ? ssd_count : 0; }
  GNSTOR_HD constexpr std::uint32_t first_sender() const { return first_pacer() + pacers(); }
  GNSTOR_HD constexpr std::uint32_t senders() const { return sends != 0 ? nics : 0; }
  /// Rings between engines: done rings, inboxes, one of copies per NIC, one a pacer, one a sender.
  GNSTOR_HD constexpr std::uint32_t rings() const {
    return max_queues + inboxes() + nics + pacers() + senders();
  }
};

/// The array node: NIC, SSDs and the rings between them, as plain pointers into memory that a
/// runner provides.
///
/// Trivially copyable; a kernel takes it by value. Who may touch what: a queue's context, its free
/// stack and the head of its done ring belong to its queue engine; a shard and the head of its
/// inbox to its shard engine; rings hand commands over.
struct node {
  using ssd = engine_ref<thread_scope_device>;
  /// Of an SSD that was given none: all classes weigh the same, eight commands at a time.
  static constexpr wire::nvme::arbitration default_arbitration{.burst_log2 = 3};

  node_shape shape;
  memory_region* regions = nullptr;
  std::uint32_t* region_changes = nullptr;  ///< counts what is registered and withdrawn; or null
  known_host* hosts = nullptr;
  const char* subsystem = nullptr;  ///< NQN, 256 bytes
  queue_context* queues = nullptr;
  std::uint32_t* free_slots = nullptr;  ///< [max_queues][max_depth]: stacks of free command slots
  io_command* commands = nullptr;       ///< [max_queues][max_depth]
  ssd* ssds = nullptr;
  std::uint32_t* faults = nullptr;           ///< [ssd_count]: `ssd_fault`
  std::uint32_t* priorities = nullptr;       ///< [max_queues]: `queue_class` of each; atomic
  std::uint32_t* arbitrations = nullptr;     ///< [ssd_count]: `arbitration`, packed; atomic
  std::uint32_t* long_pages = nullptr;       ///< [commands][transfer_blocks], where that is more
  paced_ssd** paced_ssds = nullptr;          ///< [ssd_count], each its pacer's; or null
  stream_sender** stream_senders = nullptr;  ///< [nics], each its sender's; or null
  durable_medium* medium = nullptr;          ///< that Flush and FUA wait for, on CPUs; or null
  handle_ring::ends* ring_ends = nullptr;    ///< [shape.rings()]
  std::uint64_t* done_cells = nullptr;       ///< [max_queues][max_depth]
  std::uint64_t* inbox_cells = nullptr;      ///< [inboxes][commands, rounded up to a power of two]
  std::uint64_t* copy_cells = nullptr;       ///< [nics][commands * max_transfer_blocks, rounded up]
  std::uint64_t* paced_cells = nullptr;      ///< [pacers][commands, rounded up]
  std::uint64_t* send_cells = nullptr;       ///< [senders][commands, rounded up]
  std::uint64_t* tickets = nullptr;          ///< [copy_workers]: ticket + 1, 0 for none
  paced_link* links = nullptr;               ///< [nics], where `shape.page_cost` is not 0
  std::uint64_t* quiescence_words = nullptr;  ///< `reader_quiescence` of the queue engines
  std::uint32_t* stop = nullptr;              ///< not zero: every engine returns
  std::uint32_t* host_stop =
      nullptr;  ///< likewise, in memory that the host can set while a kernel runs; or null

  GNSTOR_HD reader_quiescence<thread_scope_device> quiescence() const {
    return {quiescence_words, shape.max_queues};
  }
  GNSTOR_HD region_table keys() const {
    return region_table(regions, shape.max_regions, region_changes);
  }
  GNSTOR_HD handle_ring done_ring(std::uint32_t queue) const {
    return handle_ring(ring_ends + queue, done_cells + std::uint64_t{queue} * shape.max_depth,
                       shape.max_depth);
  }
  GNSTOR_HD handle_ring inbox(std::uint32_t ssd_number, std::uint32_t shard) const {
    const std::uint32_t which = ssd_number * shape.shards + shard;
    const std::uint32_t cells = power_of_two(shape.commands());
    return handle_ring(ring_ends + shape.max_queues + which,
                       inbox_cells + std::uint64_t{which} * cells, cells);
  }
  /// Blocks of one command at most.
  GNSTOR_HD std::uint32_t transfer_blocks() const {
#if defined(__CUDA_ARCH__)
    return max_transfer_blocks;
#else
    return shape.transfer_blocks;
#endif
  }
  /// Physical page of each block of a command.
  GNSTOR_HD std::uint32_t* pages(std::uint32_t handle) const {
#if !defined(__CUDA_ARCH__)
    if (shape.transfer_blocks > max_transfer_blocks)
      return long_pages + std::uint64_t{handle} * shape.transfer_blocks;
#endif
    return commands[handle].page;
  }
  /// Pages to be copied by the workers of a NIC, by number: handle * transfer_blocks() + page.
  GNSTOR_HD handle_ring copy_ring(std::uint32_t nic) const {
    const std::uint32_t cells = copy_cell_count(shape);
    return handle_ring(ring_ends + shape.max_queues + shape.inboxes() + nic,
                       copy_cells + std::uint64_t{nic} * cells, cells);
  }
  /// Hands pages to the copy workers of the NICs whose queue pairs they go by.
  /// @param queue, count, first each lane's own; `count` pages from number `first` on, or none
  /// @par Callers every lane of `g`, converged
  /// @par Order as `handle_ring::push`
  GNSTOR_HD void push_copies(const simt::group& g, std::uint32_t queue, std::uint32_t count,
                             std::uint32_t first) const {
    if (shape.nics == 1) return copy_ring(0).push(g, count, first);
    push_by_nic(*this, g, queue, count, first);
  }
  GNSTOR_HD_SLOW static void push_by_nic(const node& n, const simt::group g, std::uint32_t queue,
                                         std::uint32_t count, std::uint32_t first) {
    const std::uint32_t mine = count != 0 ? n.queues[queue].at.nic : 0;
    for (std::uint32_t nic = 0; nic < n.shape.nics; ++nic)
      n.copy_ring(nic).push(g, nic == mine ? count : 0, first);
  }

  /// Commands whose work is done and whose time has not come.
  GNSTOR_HD handle_ring paced_ring(std::uint32_t ssd_number) const {
    const std::uint32_t cells = power_of_two(shape.commands());
    return handle_ring(ring_ends + shape.max_queues + shape.inboxes() + shape.nics + ssd_number,
                       paced_cells + std::uint64_t{ssd_number} * cells, cells);
  }
  /// Reads whose data goes by a NIC's sender.
  GNSTOR_HD handle_ring send_ring(std::uint32_t nic) const {
    const std::uint32_t cells = power_of_two(shape.commands());
    return handle_ring(
        ring_ends + shape.max_queues + shape.inboxes() + shape.nics + shape.pacers() + nic,
        send_cells + std::uint64_t{nic} * cells, cells);
  }
  /// True if reads leave by senders.
  GNSTOR_HD bool sends() const {
#if defined(__CUDA_ARCH__)
    return false;
#else
    return shape.sends != 0;
#endif
  }
  /// True if NICs take their time, or SSDs, as they do on CPUs.
  GNSTOR_HD bool is_paced() const {
#if defined(__CUDA_ARCH__)
    return shape.page_cost != 0;
#else
    return shape.paced != 0 || shape.page_cost != 0;
#endif
  }
  /// Hands on an I/O command whose work is done: to its queue, or to whoever knows when it ends.
  /// @par Order as `handle_ring::push`
  GNSTOR_HD void finish(std::uint32_t queue, std::uint32_t ssd_number, std::uint32_t handle) const {
#if !defined(__CUDA_ARCH__)
    refuse_if_dead(ssd_number, commands[handle]);
    if (medium != nullptr && is_to_last(commands[handle]))
      return medium->settle(ssd_number, handle);
#endif
    end(queue, ssd_number, handle);
  }
#if !defined(__CUDA_ARCH__)
  /// Has no I/O succeed whose SSD has died under it: its flash may be gone, in the midst of it.
  void refuse_if_dead(std::uint32_t ssd_number, command_head& c) const {
    const std::uint32_t fault = device_word<std::uint32_t>(faults[ssd_number]).load(relaxed);
    if (fault == static_cast<std::uint32_t>(ssd_fault::dead) && c.status == 0)
      c.status = wire::nvme::make_status(wire::nvme::generic_status::internal_error, true);
  }
  /// Ends a command that `medium` has settled, well or not.
  /// @par Order as `handle_ring::push`
  void settled(std::uint32_t ssd_number, std::uint32_t handle, bool well) const {
    io_command& c = commands[handle];
    if (!well) c.status = wire::nvme::make_status(wire::nvme::media_status::write_fault, true);
    end(c.queue, ssd_number, handle);
  }
#endif
  /// Ends a command: at once, or when its time has come.
  /// @par Order as `handle_ring::push`
  GNSTOR_HD void end(std::uint32_t queue, [[maybe_unused]] std::uint32_t ssd_number,
                     std::uint32_t handle) const {
#if !defined(__CUDA_ARCH__)
    if (shape.paced != 0) return paced_ring(ssd_number).push(handle);
#endif
    done_ring(queue).push(handle);
  }

  /// True for a Flush that succeeds, and for whatever changes blocks with FUA.
  GNSTOR_HD static bool is_to_last(const command_head& c) {
    if (c.status != 0) return false;
    if (c.entry.opcode == static_cast<std::uint8_t>(wire::nvme::nvm_opcode::flush)) return true;
    return c.entry.opcode != static_cast<std::uint8_t>(wire::nvme::nvm_opcode::read) &&
           (c.entry.cdw12 & wire::nvme::force_unit_access) != 0;
  }

  /// The least power of two that is no less. Asked for in every round: no loop.
  GNSTOR_HD static constexpr std::uint32_t power_of_two(std::uint32_t n) {
    return n <= 1 ? 1 : 1u << (32 - cuda::std::countl_zero(n - 1));
  }
  GNSTOR_HD static constexpr std::uint32_t copy_cell_count(const node_shape& s) {
    return power_of_two(s.commands() * s.transfer_blocks);
  }
};

static_assert(std::is_trivially_copyable_v<node>);
static_assert(node::power_of_two(2048) == 2048 && node::power_of_two(2049) == 4096);

}  // namespace gnstor::fw

#pragma once

#include "disk.hpp"
#include "disk_request.hpp"
#include "io_ring.hpp"

#include <nvme_pcie/nvme_job.hpp>

#include <atomic>
#include <deque>
#include <span>
#include <vector>

namespace gnstor::host {

/// Serves one I/O queue: fetches commands, has Linux carry them out, answers each when it has
/// ended, in whatever order. One thread, whose ring it shares with the workers of other queues.
class disk_worker {
 public:
  /// Commands of a queue that are under way at once, at most.
  static constexpr std::uint32_t most = 1024;

  /// @param index of the queue in `node`
  /// @param disks the namespaces, from 1 on
  /// @param number which worker of the ring's thread this is
  disk_worker(const fw::nvme_node& node, std::uint32_t index, std::span<const disk> disks,
              io_ring& ring, std::uint32_t number);

  /// Takes what the doorbell announces. True if anything was done.
  bool tick();
  /// A request of the ring has ended: bytes, or minus an `errno`.
  void ended(std::uint32_t slot, std::int32_t result);

  /// Commands begun and ended so far. Any thread.
  std::uint64_t begun() const { return begun_.load(std::memory_order_acquire); }
  std::uint64_t concluded() const { return concluded_.load(std::memory_order_acquire); }

 private:
  bool serves();
  std::uint32_t waiting();
  void take(const wire::nvme::submission_entry& command);
  std::uint16_t prepare(disk_request& r, const fw::nvme_job& job);
  std::uint16_t prepare_ranges(disk_request& r) const;
  void start(std::uint32_t slot);
  void start_transfer(disk_request& r, io_uring_sqe& request);
  void start_clearing(const disk_request& r, io_uring_sqe& request) const;
  bool goes_on(disk_request& r, std::int32_t result, std::uint16_t& status);
  bool transfer_goes_on(disk_request& r, std::int32_t result, std::uint16_t& status) const;
  void conclude(std::uint32_t slot, std::uint16_t status);
  void answer(std::uint16_t id, std::uint16_t status);
  const disk& disk_of(const disk_request& r) const;

  const fw::nvme_node* node_;
  fw::nvme_queue* queue_;
  std::span<const disk> disks_;
  io_ring* ring_;
  std::uint64_t tag_;
  std::vector<disk_request> requests_;
  std::vector<std::uint32_t> free_;
  /// What has failed, and goes again one by one: Linux merges neighbours into one request, and all
  /// of them fail with one.
  std::deque<std::uint32_t> lonely_;
  std::uint64_t fetched_ = 0;
  std::uint64_t answers_ = 0;
  std::uint64_t unanswered_ = 0;
  std::uint32_t bad_tail_ = 0;  ///< counted already
  bool serves_ = false;
  std::atomic<std::uint64_t> begun_ = 0;
  std::atomic<std::uint64_t> concluded_ = 0;
};

}  // namespace gnstor::host

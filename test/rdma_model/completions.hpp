#pragma once
/// Completion queues and their channels, as `ibv_cq` and `ibv_comp_channel` objects.

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

namespace gnstor::test::rdma_model {

/// Says that a completion has come where that was asked for. Its descriptor is readable then.
struct completion_channel : ibv_comp_channel {
  explicit completion_channel(ibv_context* of);
  ~completion_channel();
  void raise(ibv_cq* of);
  void forget(const ibv_cq* of);

  std::mutex guard;
  std::deque<ibv_cq*> raised;
  std::uint32_t users = 0;
};

/// How many requests of a queue pair's two queues have been given back by the completions polled:
/// only these make room, as in a NIC's rings.
struct reclaimed_slots {
  std::atomic<std::uint64_t> sends{0};
  std::atomic<std::uint64_t> receives{0};
};

struct completion_queue : ibv_cq {
  struct entry {
    ibv_wc what{};
    reclaimed_slots* slots = nullptr;
    bool receive = false;
    std::uint64_t reclaims = 0;  ///< requests of that queue that have room again afterwards
  };

  completion_queue(ibv_context* of, int entries, void* user, ibv_comp_channel* wakes);
  ~completion_queue();
  /// Ends the process if there is no room: a NIC would break the queue for good.
  void put(const entry& e);
  int poll(int most, ibv_wc* out);
  void arm();
  /// Drops the completions of a queue pair that is destroyed.
  void forget(const reclaimed_slots* slots);

  std::mutex guard;
  std::deque<entry> entries;
  std::atomic<std::size_t> count{0};
  bool armed = false;
  std::uint32_t users = 0;         ///< queue pairs
  std::uint32_t events_given = 0;  ///< by `ibv_get_cq_event`
  std::uint32_t events_acked = 0;
};

}  // namespace gnstor::test::rdma_model

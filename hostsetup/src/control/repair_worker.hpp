#pragma once

#include "array_client.hpp"
#include "array_state.hpp"
#include <daemon/manager.hpp>
#include <daemon/repair.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace gnstor::host {

/// Carries out the repairs that a manager orders, one after another, by I/O of the manager's own:
/// of a large one several stripes at a time.
/// @par Callers every function is called with the manager's lock held
class repair_worker {
 public:
  /// What it needs of the manager it works for.
  struct employer {
    std::mutex& guard;
    daemon::manager& core;
    std::function<void()> wake;  ///< something has ended
    /// An SSD does not answer, or is broken.
    std::function<void(std::uint32_t ssd, status said)> failed;
    /// A repair has ended; one that was cancelled does not.
    std::function<void(const daemon::repair&)> ended;
    /// Commands that may be sent to SSDs at once, at least 1; nothing: as many as it likes.
    std::function<std::uint32_t()> depth{};
  };

  /// @param client outlives this
  repair_worker(array_client& client, const employer& e, std::uint64_t bytes_per_s);
  ~repair_worker();

  void start();
  /// Ends what is under way. Without the lock held.
  void stop();
  void add(const daemon::repair_order& order);
  void cancel(std::uint64_t repair);
  /// Begins nothing any more, and ends what is under way before its next command.
  void halt();
  /// Something has changed that a repair may wait for.
  void wake() { changed_.notify_all(); }
  std::vector<repair_state> state() const;
  /// True if a scrub of a volume is under way or waits.
  bool has_scrub(std::uint16_t vid) const;

 private:
  /// One of those who deal with a repair's stripes in turns, and its memory.
  struct part {
    std::span<std::byte> memory;
    daemon::repair work;
  };
  using parts = std::deque<part>;
  void run();
  void carry_out(std::unique_lock<std::mutex>& lock, const daemon::repair_order& order);
  parts parts_of(const daemon::repair_order& order);
  void work_on(std::unique_lock<std::mutex>& lock, parts& all, part& one);
  daemon::step_end step(const daemon::repair_step& p, std::span<std::byte> memory, status& broken);
  void pace(std::unique_lock<std::mutex>& lock, std::uint64_t bytes);

  array_client* client_;
  employer manager_;
  client_id as_;
  std::uint64_t bytes_per_s_;
  std::condition_variable changed_;
  std::deque<daemon::repair_order> waiting_;
  std::uint64_t current_ = 0;     ///< repair under way; 0: none
  daemon::repair_order order_{};  ///< of it
  bool cancelled_ = false;
  bool stopping_ = false;
  std::uint32_t failures_ = 0;  ///< in a row
  repair_state now_;
  bool gives_up_ = false;                       ///< some part of what is under way has failed
  std::uint32_t at_work_ = 0;                   ///< parts that are not over
  std::vector<std::vector<std::byte>> memory_;  ///< of parts
  std::thread thread_;
};

}  // namespace gnstor::host

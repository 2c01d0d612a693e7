#pragma once

#include <gnstor/simt/clock.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace gnstor::fw {

/// Where the CPU threads of an array node rest while they have nothing to do: for moments while
/// somebody uses the node, who rings doorbells when he likes; until they are woken while nobody
/// does.
class node_rest {
 public:
  /// Somebody uses the node as long as this lives.
  class use {
   public:
    explicit use(node_rest& of) : of_(&of) { of.begin(); }
    ~use() { of_->users_.fetch_sub(1); }
    use(const use&) = delete;
    use& operator=(const use&) = delete;

   private:
    node_rest* of_;
  };

  /// How one thread of the node rests.
  class sleeper {
   public:
    explicit sleeper(node_rest& of) : of_(&of) {}
    /// @param quiet rounds in which the thread has found nothing
    /// @par Callers a thread of the node, after each such round
    void operator()(std::uint32_t quiet) const { idle_ = of_->rest(quiet, seen_); }
    /// A thread that sleeps between its rounds does in each what is done once in many.
    std::uint32_t quiet_for_engines(std::uint32_t quiet) const { return idle_ ? 1023 : quiet; }

   private:
    node_rest* of_;
    mutable std::uint64_t seen_ = 0;
    mutable bool idle_ = false;
  };

 private:
  static constexpr std::uint32_t keen = 64;        ///< rounds in which it only gives way
  static constexpr std::uint32_t patience = 4096;  ///< the same while somebody uses the node

  /// Sleeps until it is woken only if nobody has used the node since before the thread's last
  /// round: what a user rang that round has seen.
  /// @param seen uses begun before that round, when there was no user; 0: not known
  /// @return true if it has slept so
  bool rest(std::uint32_t quiet, std::uint64_t& seen) {
    constexpr std::chrono::microseconds moment{100};
    constexpr std::chrono::milliseconds longest{50};  // what nobody waits for is done then
    if (quiet < keen) {
      simt::pause();
      return false;
    }
    const std::uint64_t before = begun_.load();
    const bool used = users_.load() != 0;
    if (used || before != seen) {
      seen = used ? 0 : before;
      used&& quiet > patience ? std::this_thread::sleep_for(moment) : simt::pause();
      return false;
    }
    resting_.fetch_add(1);
    {
      std::unique_lock lock(guard_);
      changed_.wait_for(lock, longest, [&] { return begun_.load() != before; });
    }
    resting_.fetch_sub(1);
    return true;
  }
  /// Loads and changes of these words are in one order: whoever begins sees that a thread rests, or
  /// that thread sees that somebody has begun.
  void begin() {
    users_.fetch_add(1);
    begun_.fetch_add(1);
    if (resting_.load() == 0) return;
    const std::lock_guard lock(guard_);
    changed_.notify_all();
  }

  std::atomic<std::uint32_t> users_{0};
  std::atomic<std::uint64_t> begun_{1};  ///< uses, since ever; 0 is none
  std::atomic<std::uint32_t> resting_{0};
  std::mutex guard_;
  std::condition_variable changed_;
};

}  // namespace gnstor::fw

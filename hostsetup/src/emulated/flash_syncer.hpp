#pragma once

#include <afa/durable_medium.hpp>
#include <afa/node.hpp>

#include <semaphore.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gnstor::host {

/// Writes mapped flash files to their disk for the commands that ask for it.
///
/// One thread does it, for all that came meanwhile at once: ten Flushes of an SSD cost no more than
/// two. A node in virtual time has no other threads: there it is done where it is asked for. The
/// thread also does it every few seconds, and looks at the files when somebody, a signal handler
/// even, rings its bell.
class flash_syncer final : public fw::durable_medium {
 public:
  /// @param sync writes the file of an SSD to its disk, `asked` to; else if there is anything new.
  /// False if it cannot
  /// @param look is called, by the thread, after the bell rang
  /// @param often also without a command, every few seconds
  flash_syncer(const fw::node& n, std::function<bool(std::uint32_t ssd, bool asked)> sync,
               std::function<void()> look, bool often)
      : node_(n), sync_(std::move(sync)), look_(std::move(look)), often_(often) {
    sem_init(&bell_, 0, 0);
  }
  ~flash_syncer() override;

  /// Has a thread do it, if none does: before CPU threads run the node. Throws `error`.
  void start();
  /// Answers what was asked for, and ends the thread: after these threads have ended.
  void stop();

  void settle(std::uint32_t ssd, std::uint32_t handle) override;
  void make_room(std::uint32_t ssd) override;
  sem_t* bell() { return &bell_; }

 private:
  static constexpr std::uint32_t nobody = ~0u;  ///< no command
  /// How old what is not on the disk gets: as long as what the kernel's file systems keep.
  static constexpr std::chrono::seconds longest{5};

  struct request {
    std::uint32_t ssd;
    std::uint32_t handle;
  };
  /// Commands, and for each SSD nobody's.
  std::uint32_t most_waiting() const { return node_.shape.commands() + node_.shape.ssd_count; }
  void serve();
  void wait(std::chrono::steady_clock::time_point until);
  void carry_out(const std::vector<request>& requests) const;

  fw::node node_;
  std::function<bool(std::uint32_t ssd, bool asked)> sync_;
  std::function<void()> look_;
  bool often_;
  sem_t bell_;
  std::mutex guard_;  ///< of what follows
  std::vector<request> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace gnstor::host

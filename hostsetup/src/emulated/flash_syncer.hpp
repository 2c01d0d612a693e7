#pragma once

#include <afa/durable_medium.hpp>
#include <afa/node.hpp>

#include <semaphore.h>

#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gnstor::host {

/// Writes mapped flash files to their disk for the commands that ask for it.
///
/// One thread does it, for all that came meanwhile at once: ten Flushes of an SSD cost no more than
/// two. A node in virtual time has no other threads: there it is done where it is asked for. The
/// thread also looks at the files when somebody, a signal handler even, rings its bell.
class flash_syncer final : public fw::durable_medium {
 public:
  /// @param sync writes the file of an SSD to its disk; false if it cannot
  /// @param look is called, by the thread, after the bell rang
  flash_syncer(const fw::node& n, std::function<bool(std::uint32_t ssd)> sync,
               std::function<void()> look)
      : node_(n), sync_(std::move(sync)), look_(std::move(look)) {
    sem_init(&bell_, 0, 0);
  }
  /// Answers what was asked for, and ends the thread.
  ~flash_syncer() override;

  /// Has a thread do it, if none does: before CPU threads run the node. Throws `error`.
  void start();

  void settle(std::uint32_t ssd, std::uint32_t handle) override;
  sem_t* bell() { return &bell_; }

 private:
  struct request {
    std::uint32_t ssd;
    std::uint32_t handle;
  };
  void serve();
  void carry_out(const std::vector<request>& requests) const;

  fw::node node_;
  std::function<bool(std::uint32_t ssd)> sync_;
  std::function<void()> look_;
  sem_t bell_;
  std::mutex guard_;  ///< of what follows
  std::vector<request> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace gnstor::host

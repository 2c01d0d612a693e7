#pragma once

#include <afa/durable_medium.hpp>
#include <afa/node.hpp>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gnstor::host {

/// Writes mapped flash files to their disk for the commands that ask for it.
///
/// One thread does it, for all that came meanwhile at once: ten Flushes of an SSD cost no more than
/// two. A node in virtual time has no other threads: there it is done where it is asked for.
class flash_syncer final : public fw::durable_medium {
 public:
  /// @param sync writes the file of an SSD to its disk; false if it cannot
  flash_syncer(const fw::node& n, std::function<bool(std::uint32_t ssd)> sync)
      : node_(n), sync_(std::move(sync)) {}
  /// Answers what was asked for, and ends the thread.
  ~flash_syncer() override;

  /// Has a thread do it, if none does: before CPU threads run the node. Throws `error`.
  void start();

  void settle(std::uint32_t ssd, std::uint32_t handle) override;

 private:
  struct request {
    std::uint32_t ssd;
    std::uint32_t handle;
  };
  void serve();
  void carry_out(const std::vector<request>& requests) const;

  fw::node node_;
  std::function<bool(std::uint32_t ssd)> sync_;
  std::mutex guard_;  ///< of what follows
  std::condition_variable changed_;
  std::vector<request> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace gnstor::host

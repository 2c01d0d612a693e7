#pragma once

#include "block_engine.hpp"

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace gnstor::serve {

/// A block engine with a thread of its own, for callers in any thread.
class block_service {
 public:
  /// As `block_engine`, by the link's first channel.
  block_service(host::array_link& link, host::epoch_watcher* epochs,
                const block_settings& settings);
  /// Ends what is not under way with `closed`, and waits for the rest.
  ~block_service();
  block_service(const block_service&) = delete;
  block_service& operator=(const block_service&) = delete;

  /// Begins a request; `done` is called by the service's thread.
  /// @par Callers any thread, also `block_request::done`
  void submit(block_request& r);

 private:
  /// Closes a descriptor behind those who use it.
  struct event_descriptor {
    int fd;
    ~event_descriptor();
    operator int() const { return fd; }
  };

  void serve();
  bool round();
  void sleep();
  bool take_incoming();
  void wake();

  const event_descriptor event_;  ///< wakes the thread
  block_engine engine_;           ///< the thread's
  bool wakes_ = false;            ///< the engine does

  std::mutex guard_;  ///< of `incoming_`
  std::vector<block_request*> incoming_;
  // In one order, with the thread's looks before it sleeps: either it finds what came, or who
  // submits finds it asleep.
  std::atomic<bool> has_incoming_{false};
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace gnstor::serve

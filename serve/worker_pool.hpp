#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gnstor::serve {

/// Threads that execute what may wait for the array, in the order in which it comes.
///
/// The users bound what is queued: a queue has no more jobs than commands in flight.
class worker_pool {
 public:
  /// Throws `error` if there are not so many.
  explicit worker_pool(std::uint32_t threads);
  /// Finishes what was submitted.
  ~worker_pool();
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;

  /// Runs `job`, which must not throw, on one of the threads.
  void submit(std::function<void()> job);

 private:
  void serve();
  void end();

  std::mutex guard_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace gnstor::serve

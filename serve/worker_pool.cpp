#include "worker_pool.hpp"

#include <base/start_thread.hpp>

#include <utility>

namespace gnstor::serve {

worker_pool::worker_pool(std::uint32_t threads) {
  threads_.reserve(threads);
  try {
    for (std::uint32_t k = 0; k < threads; ++k)
      threads_.push_back(
          host::start_thread("worker", "waiting for the array", [this] { serve(); }));
  } catch (...) {
    end();
    throw;
  }
}

worker_pool::~worker_pool() { end(); }

void worker_pool::end() {
  {
    const std::lock_guard lock(guard_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void worker_pool::submit(std::function<void()> job) {
  {
    const std::lock_guard lock(guard_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void worker_pool::serve() {
  for (;;) {
    std::function<void()> job;
    {
      std::unique_lock lock(guard_);
      changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace gnstor::serve

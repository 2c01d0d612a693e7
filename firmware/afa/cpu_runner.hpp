#pragma once

#include <afa/node_runner.hpp>
#include <afa/service.hpp>

#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace gnstor::fw {

/// Runs an array node on CPU threads. `stop` throws what a firmware assertion threw.
class cpu_runner final : public node_runner {
 public:
  /// Starts `threads` threads, each the owner of every `threads`-th engine.
  /// Throws `std::system_error` if there are not so many; none runs then.
  cpu_runner(const node& n, std::uint32_t threads) : node_(n) {
    threads_.reserve(threads);
    try {
      for (std::uint32_t t = 0; t < threads; ++t)
        threads_.emplace_back([this, t, threads] { run(t, threads); });
    } catch (...) {
      join();
      throw;
    }
  }
  ~cpu_runner() override { join(); }
  cpu_runner(const cpu_runner&) = delete;
  cpu_runner& operator=(const cpu_runner&) = delete;

  void stop() override {
    join();
    if (failed_.exchange(false)) std::rethrow_exception(failure_);
  }

 private:
  void run(std::uint32_t turn, std::uint32_t threads) {
    try {
      service{node_}.run(simt::group::warp(), turn, threads);
    } catch (...) {
      failure_ = std::current_exception();
      failed_.store(true);
    }
  }
  void join() {
    device_word<std::uint32_t>(*node_.stop).store(1, release);
    for (std::thread& t : threads_) t.join();
    threads_.clear();
  }

  node node_;
  std::vector<std::thread> threads_;
  std::exception_ptr failure_;
  std::atomic<bool> failed_ = false;
};

}  // namespace gnstor::fw

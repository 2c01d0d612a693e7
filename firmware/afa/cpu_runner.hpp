#pragma once

#include <afa/fail_queues.hpp>
#include <afa/firmware_failure.hpp>
#include <afa/node_rest.hpp>
#include <afa/node_runner.hpp>
#include <afa/service.hpp>

#include <pthread.h>

#include <atomic>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

namespace gnstor::fw {

/// Runs an array node on CPU threads.
///
/// A firmware assertion ends all of them, as a shard or a queue without its owner would never
/// answer: the reason is reported, and every queue pair breaks. `stop` throws what was thrown.
class cpu_runner final : public node_runner {
 public:
  /// Starts `threads` threads, each the owner of every `threads`-th engine.
  /// Throws `std::system_error` if there are not so many; none runs then.
  /// @param failure outlives the runner, as does `rest`
  cpu_runner(const node& n, std::uint32_t threads, firmware_failure& failure, node_rest& rest)
      : node_(n), failure_(failure), rest_(rest), running_(threads) {
    threads_.reserve(threads);
    try {
      for (std::uint32_t t = 0; t < threads; ++t)
        threads_.emplace_back([this, t, threads] { serve(t, threads); });
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
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  void serve(std::uint32_t turn, std::uint32_t step) {
    pthread_setname_np(pthread_self(), "array node");
    try {
      service{node_}.run(simt::group::warp(), turn, step, {}, node_rest::sleeper(rest_));
    } catch (const std::exception& e) {
      fail(e.what());
    } catch (...) {
      fail("");
    }
    // Nobody is in the queues any more but the last one.
    if (running_.fetch_sub(1) == 1 && failure_.raised()) fail_queues(node_);
  }
  void fail(const char* why) {
    if (!first_.exchange(true)) thrown_ = std::current_exception();
    failure_.report(why);
    tell_to_stop();
  }
  void tell_to_stop() const { device_word<std::uint32_t>(*node_.stop).store(1, release); }
  void join() {
    const node_rest::use awake(rest_);  // who rests looks seldom
    tell_to_stop();
    for (std::thread& t : threads_) t.join();
    threads_.clear();
  }

  node node_;
  firmware_failure& failure_;
  node_rest& rest_;
  std::vector<std::thread> threads_;
  std::atomic<std::uint32_t> running_;
  std::atomic<bool> first_ = false;  ///< somebody has thrown
  std::exception_ptr thrown_;        ///< by the first; read once all have ended
};

}  // namespace gnstor::fw

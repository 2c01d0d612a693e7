/// How threads of a node rest, and that whoever uses it wakes them.
#include <afa/node_rest.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

using namespace gnstor;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

namespace {

/// A thread that looks for a word and rests, as one of a node does.
class looker {
 public:
  explicit looker(fw::node_rest& rest) : thread_([this, &rest] { run(rest); }) {}
  ~looker() {
    stop_ = true;
    thread_.join();
  }
  std::uint64_t rounds() const { return rounds_; }
  std::atomic<std::uint32_t> asked{0};
  std::atomic<std::uint32_t> answered{0};

 private:
  void run(fw::node_rest& rest) {
    const fw::node_rest::sleeper sleeper(rest);
    std::uint32_t quiet = 0;
    for (; !stop_; ++rounds_) {
      const std::uint32_t now = asked.load();
      quiet = answered.exchange(now) == now ? quiet + 1 : 0;
      if (quiet != 0) sleeper(quiet);
    }
  }
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> rounds_{0};
  std::thread thread_;
};

}  // namespace

TEST_CASE("a node that nobody uses rests for long, and one that is used for moments") {
  fw::node_rest rest;
  looker thread(rest);
  std::this_thread::sleep_for(100ms);
  const std::uint64_t before = thread.rounds();
  std::this_thread::sleep_for(300ms);
  CHECK(thread.rounds() - before <= 20);  // 50 ms each
  const fw::node_rest::use mine(rest);
  std::this_thread::sleep_for(300ms);
  CHECK(thread.rounds() - before >= 100);
}

TEST_CASE("a thread goes through one more round after a use before it rests for long") {
  fw::node_rest rest;
  const fw::node_rest::sleeper sleeper(rest);
  const auto sleeps = [&] {
    const auto began = clock_type::now();
    sleeper(100);
    return clock_type::now() - began > 25ms;
  };
  CHECK_FALSE(sleeps());
  CHECK(sleeps());
  CHECK(sleeps());
  { const fw::node_rest::use mine(rest); }
  CHECK_FALSE(sleeps());
  CHECK(sleeps());
  const fw::node_rest::use mine(rest);
  CHECK_FALSE(sleeps());
  CHECK_FALSE(sleeps());
}

TEST_CASE("what a user asks for is seen at once, however short the use") {
  fw::node_rest rest;
  looker thread(rest);
  std::uint32_t late = 0;
  for (std::uint32_t n = 1; n <= 2000; ++n) {
    // At times while it is about to rest, at times when it has rested for long.
    if (n % 100 == 0) std::this_thread::sleep_for(20ms);
    const auto began = clock_type::now();
    {
      const fw::node_rest::use mine(rest);
      thread.asked = n;
    }
    for (; thread.answered != n;) std::this_thread::yield();  // it may have this processor
    late += clock_type::now() - began > 40ms ? 1 : 0;
  }
  // A use that was missed waits for 50 ms: at least each of the 20 after a rest. A busy machine
  // holds a thread up so long now and then.
  CHECK(late <= 3);
}

/// The proxy thread: real threads, real time.
// label: thorough
#include "copy_lanes.hpp"
#include "exchange_image.hpp"
#include "proxy/proxy_thread.hpp"
#include "proxy_fixture.hpp"
#include "qp/seed_sweep.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace gnstor::test {
namespace {

using gnstor::host::proxy_task;
using gnstor::host::proxy_thread;

/// Waits until `count` has grown by `n`. False after ten seconds.
bool await_count(const std::atomic<std::uint64_t>& count, std::uint64_t n) {
  const std::uint64_t from = count;
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (; count < from + n;) {
    if (std::chrono::steady_clock::now() > last) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Counts its ticks, and notices two at a time.
class counter final : public proxy_task {
 public:
  bool tick() noexcept override {
    if (inside_.exchange(true)) overlapped = true;
    ++ticks;
    inside_ = false;
    return false;
  }
  /// Waits until `n` more ticks were made. False after ten seconds.
  bool ticked(std::uint64_t n) const { return await_count(ticks, n); }

  std::atomic<std::uint64_t> ticks{0};
  std::atomic<bool> overlapped{false};

 private:
  std::atomic<bool> inside_{false};
};

/// Holds up its thread while it is shut.
class gate final : public proxy_task {
 public:
  bool tick() noexcept override {
    for (; shut;) {
      entered = true;
      std::this_thread::yield();
    }
    ++passed_;
    return false;
  }
  void await_entry() const {
    for (; !entered;) std::this_thread::yield();
  }
  /// Waits until `n` more ticks were made. False after ten seconds.
  bool passes(std::uint64_t n) const { return await_count(passed_, n); }

  std::atomic<bool> shut{false};
  std::atomic<bool> entered{false};

 private:
  std::atomic<std::uint64_t> passed_{0};
};

/// Threads of this CPU as a kernel's lanes, each alone in its warp.
struct lone_lane {
  std::uint32_t id;
  std::uint32_t lanes;
  std::uint32_t global_thread() const { return id; }
  std::uint32_t grid_threads() const { return lanes; }
};

/// An exchange between plain threads and engines on `threads` proxy threads.
std::string exchanged(proxy_exchange_shape s, std::uint32_t seed, std::uint32_t threads) {
  s.lanes = 1;
  proxy_exchange f(s, seed);
  f.client.patience_ns = 1'000'000;
  std::vector<std::unique_ptr<proxy_thread>> proxies;
  for (std::uint32_t k = 0; k < threads; ++k) proxies.push_back(std::make_unique<proxy_thread>());
  for (std::uint32_t k = 0; k < s.channels; ++k) proxies[k % threads]->add(*f.tasks[k]);
  {
    std::vector<std::jthread> lanes;
    for (std::uint32_t k = 0; k < s.blocks; ++k) {
      lanes.emplace_back([&, k] {
        lone_lane me{k, s.blocks};
        f.client(me);
      });
    }
  }
  for (std::uint32_t k = 0; k < s.channels; ++k) proxies[k % threads]->remove(*f.tasks[k]);
  return f.judge();
}

}  // namespace

TEST_CASE("one thread serves several queues, and several threads serve them too") {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    const proxy_exchange_shape s{.blocks = 3, .rounds = under_tsan ? 20u : 200u, .channels = 3};
    CHECK(exchanged(s, seed, 1) == "");
    CHECK(exchanged(s, seed, 2) == "");
  }
}

TEST_CASE("a thread that sleeps when idle still answers everything") {
  proxy_exchange_shape s{.blocks = 2, .rounds = 50, .channels = 1};
  s.lanes = 1;
  proxy_exchange f(s, 1);
  proxy_thread sleepy({.spins = 0, .yields = 0, .sleep_us = 50});
  sleepy.add(*f.tasks[0]);
  f.client.patience_ns = 1'000'000;
  {
    std::vector<std::jthread> lanes;
    for (std::uint32_t k = 0; k < s.blocks; ++k) {
      lanes.emplace_back([&, k] {
        lone_lane me{k, s.blocks};
        f.client(me);
      });
    }
  }
  sleepy.remove(*f.tasks[0]);
  CHECK(f.judge() == "");
}

TEST_CASE("an engine on another thread answers lanes of the host runtime, fast") {
  proxy_exchange_shape s{.blocks = 2, .lanes = 8, .rounds = 20};
  proxy_exchange f(s, 1);
  f.client.patience_ns = 1'000'000;
  proxy_thread proxy;
  for (proxy_task* task : f.tasks) proxy.add(*task);
  host::executor machine;
  machine.spawn(s.blocks, s.lanes, f.client);
  CHECK(run_to_end(machine) == "");
  for (proxy_task* task : f.tasks) proxy.remove(*task);
  CHECK(f.judge() == "");
}

TEST_CASE("an engine on another thread moves data both ways for a warp, fast") {
  proxy_fixture<scripted_port> queue(32, port_script{});
  std::vector<std::uint64_t> here(32 * copy_lanes::words);
  std::vector<std::uint64_t> there(32 * copy_lanes::words);
  std::uint32_t faults = 0;
  proxy_thread proxy;
  proxy.add(queue.engine);
  host::executor machine;
  machine.spawn(1, 32, copy_lanes{queue.ref(), here.data(), there.data(), &faults, 20});
  CHECK(run_to_end(machine) == "");
  proxy.remove(queue.engine);
  CHECK(queue.engine.fault() == "");
  CHECK(faults == 0);
}

TEST_CASE("a task is ticked from when it is added, and never after its removal") {
  proxy_thread proxy;
  counter always;
  proxy.add(always);
  for (int round = 0; round < 200; ++round) {
    counter brief;
    proxy.add(brief);
    REQUIRE(brief.ticked(1));
    proxy.remove(brief);
    const std::uint64_t last = brief.ticks;
    REQUIRE(always.ticked(2));
    REQUIRE(brief.ticks == last);
  }
  CHECK_FALSE(always.overlapped);
}

TEST_CASE("a removal waits for the round that is under way") {
  gate first;
  counter second;
  proxy_thread proxy;
  proxy.add(first);
  proxy.add(second);
  REQUIRE(second.ticked(1));
  first.shut = true;
  first.await_entry();
  std::atomic<bool> removed{false};
  std::jthread remover([&] {
    proxy.remove(second);
    removed = true;
  });
  // Time for a removal that does not wait; the round is held up in the first task.
  for (int looks = 0; looks < 10'000 && !removed; ++looks) std::this_thread::yield();
  CHECK_FALSE(removed);
  first.shut = false;
  remover.join();
  const std::uint64_t last = second.ticks;
  REQUIRE(first.passes(2));
  CHECK(second.ticks == last);
}

TEST_CASE("tasks come and go from many threads while others are ticked") {
  proxy_thread proxy;
  counter always;
  proxy.add(always);
  std::atomic<int> silent{0};
  {
    std::vector<std::jthread> users;
    for (int k = 0; k < 4; ++k) {
      users.emplace_back([&] {
        for (int round = 0; round < 50; ++round) {
          counter mine;
          proxy.add(mine);
          if (!mine.ticked(1)) ++silent;
          proxy.remove(mine);
        }
      });
    }
  }
  CHECK(silent == 0);
  CHECK(always.ticked(1));
}

TEST_CASE("removing a task that is not there does nothing, and a thread ends with tasks left") {
  counter left;
  proxy_thread proxy;
  counter stranger;
  proxy.remove(stranger);
  proxy.add(left);
  CHECK(left.ticked(1));
}

TEST_CASE("a sleep longer than 50 us is refused") {
  CHECK_THROWS_AS(proxy_thread({.sleep_us = 51}), gnstor::host::input_error);
}

TEST_CASE("an idle proxy thread leaves its core to others") {
  proxy_thread idle({.spins = 10, .yields = 10, .sleep_us = 50});
  counter task;
  idle.add(task);
  REQUIRE(task.ticked(100));
  // While it sleeps 50 us per round it cannot have made more rounds than time allows.
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t from = task.ticks;
  REQUIRE(task.ticked(200));
  const std::uint64_t made = task.ticks - from;
  const auto took = std::chrono::steady_clock::now() - start;
  CHECK(took >= (made - 1) * std::chrono::microseconds(50));
}

}  // namespace gnstor::test

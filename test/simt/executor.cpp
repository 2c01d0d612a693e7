#include "run.hpp"
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/atomic_ref.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

struct position_kernel {
  struct position {
    std::uint32_t thread, block, block_threads, grid_blocks, global;
  };
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, position* out) const {
    out[lane.global_thread()] = {lane.thread(), lane.block(), lane.block_threads(),
                                 lane.grid_blocks(), lane.global_thread()};
  }
};

struct poison_kernel {
  struct shared {
    unsigned char bytes[100];
    alignas(64) std::uint32_t word;
  };
  template <class Lane>
  void operator()(Lane& lane, std::uint32_t* clean) const {
    std::uint32_t found = 0;
    for (unsigned char b : lane.shared().bytes) found += b == 0xcb ? 0 : 1;
    device_word<std::uint32_t>(*clean).fetch_add(found, relaxed);
    lane.sync_block();
    lane.shared().word = lane.block();
    lane.sync_block();
    CHECK(lane.shared().word == lane.block());
    CHECK(reinterpret_cast<std::uintptr_t>(&lane.shared()) % 64 == 0);
  }
};

struct counting_kernel {
  std::uint32_t step;
  template <class Lane>
  void operator()(Lane&, std::uint32_t mine, std::uint32_t* total) {
    step += 1;  // each lane has its own copy of the functor and of its arguments
    mine += step;
    device_word<std::uint32_t>(*total).fetch_add(mine, relaxed);
  }
};

}  // namespace

TEST_CASE("every lane knows its position") {
  std::vector<position_kernel::position> positions(3 * 50);
  host::executor machine;
  machine.spawn(3, 50, position_kernel{}, positions.data());
  machine.run();
  for (std::uint32_t k = 0; k < positions.size(); ++k) {
    CHECK(positions[k].thread == k % 50);
    CHECK(positions[k].block == k / 50);
    CHECK(positions[k].block_threads == 50);
    CHECK(positions[k].grid_blocks == 3);
    CHECK(positions[k].global == k);
  }
}

TEST_CASE("shared memory starts as poison, aligned, one for each block") {
  std::uint32_t clean = 0;
  host::executor machine;
  machine.spawn(3, 40, poison_kernel{}, &clean);
  machine.run();
  CHECK(clean == 0);
}

TEST_CASE("every lane has its own copy of functor and arguments") {
  std::uint32_t total = 0;
  host::executor machine;
  machine.spawn(1, 32, counting_kernel{1}, 5u, &total);
  machine.run();
  CHECK(total == 32 * 7);
}

TEST_CASE("a service is asked to stop when the last lane of the other grids has exited") {
  for (host::mode mode : {host::mode::fast, host::mode::seeded, host::mode::weak}) {
    std::uint32_t stop = 0;
    std::uint32_t asked = 0;
    std::uint32_t answered = 0;
    host::executor machine({.run = mode, .seed = 4});
    machine.serve_in(host::domain::nic, 1, 1, stop, lambda_kernel{[&](auto& lane) {
                       while (system_word<std::uint32_t>(stop).load(acquire) == 0) {
                         const std::uint32_t now = system_word<std::uint32_t>(asked).load(acquire);
                         system_word<std::uint32_t>(answered).store(now, release);
                         lane.pause();
                       }
                     }});
    machine.spawn(2, 32, lambda_kernel{[&](auto& lane) {
                    const std::uint32_t mine =
                        system_word<std::uint32_t>(asked).fetch_add(1, acq_rel) + 1;
                    while (system_word<std::uint32_t>(answered).load(acquire) < mine) lane.pause();
                  }});
    machine.run();
    CHECK(stop == 1);
    CHECK(answered == 64);
  }
}

TEST_CASE("a service that needs another one has ended before that one is asked to stop") {
  for (host::mode mode : {host::mode::fast, host::mode::seeded, host::mode::weak}) {
    std::uint32_t stop[2] = {};
    std::uint32_t asked = 0;
    std::uint32_t answered = 0;
    host::executor machine({.run = mode, .seed = 4});
    machine.serve_in(host::domain::nic, 1, 1, stop[0], lambda_kernel{[&](auto& lane) {
                       while (system_word<std::uint32_t>(stop[0]).load(acquire) == 0) {
                         const std::uint32_t now = system_word<std::uint32_t>(asked).load(acquire);
                         system_word<std::uint32_t>(answered).store(now, release);
                         lane.pause();
                       }
                     }});
    // Once stopped it has one more thing to ask.
    machine.serve(1, 32, stop[1], lambda_kernel{[&](auto& lane) {
                    while (system_word<std::uint32_t>(stop[1]).load(acquire) == 0) lane.pause();
                    const std::uint32_t mine =
                        system_word<std::uint32_t>(asked).fetch_add(1, acq_rel) + 1;
                    for (bounded more{10'000}; more;) {
                      if (system_word<std::uint32_t>(answered).load(acquire) >= mine) return;
                      lane.pause();
                    }
                    FAIL("nobody answers any more");
                  }});
    machine.ends_first();
    machine.spawn(2, 32, lambda_kernel{[&](auto& lane) { lane.pause(); }});
    machine.run();
    CHECK(stop[0] == 1);
    CHECK(stop[1] == 1);
    CHECK(answered == 32);
  }
}

TEST_CASE("a lane that polls without a pause does not stop the others in fast mode") {
  std::uint32_t flag = 0;
  run({}, 1, 2, [&](auto& lane) {
    if (lane.thread() == 0) {
      while (device_word<std::uint32_t>(flag).load(acquire) == 0) {
      }
    } else {
      device_word<std::uint32_t>(flag).store(1, release);
    }
  });
  CHECK(flag == 1);
}

TEST_CASE("fast mode waits for a real thread") {
  std::uint32_t flag = 0;
  std::thread firmware([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    system_word<std::uint32_t>(flag).store(1, release);
  });
  run({}, 1, 32, [&](auto& lane) {
    while (system_word<std::uint32_t>(flag).load(acquire) == 0) lane.pause();
  });
  firmware.join();
  CHECK(flag == 1);
}

TEST_CASE("two executors run at once on two threads") {
  std::atomic<int> meet{0};
  std::uint32_t sums[2] = {};
  auto work = [&](std::uint32_t* sum, std::uint64_t seed) {
    ++meet;
    while (meet != 2) std::this_thread::yield();
    for (std::uint64_t k = 0; k < 20; ++k) {
      run(seeded(seed + k), 2, 64, [=](auto& lane) {
        const std::uint32_t votes = lane.warp().ballot(1);
        device_word<std::uint32_t>(*sum).fetch_add(votes == ~0u ? 1 : 0, relaxed);
      });
    }
  };
  std::thread other(work, &sums[1], 100);
  work(&sums[0], 1);
  other.join();
  CHECK(sums[0] == 20 * 128);
  CHECK(sums[1] == 20 * 128);
}

TEST_CASE("many lanes fit") {
#if defined(__SANITIZE_THREAD__)
  constexpr std::uint32_t blocks = 2;  // ThreadSanitizer knows 8,128 fibers
#else
  constexpr std::uint32_t blocks = 20;
#endif
  std::uint32_t count = 0;
  run({}, blocks, 512, [&](auto& lane) {
    lane.sync_block();
    device_word<std::uint32_t>(count).fetch_add(1, relaxed);
  });
  CHECK(count == blocks * 512);
}

TEST_CASE("a run without grids does nothing") {
  host::executor machine;
  machine.run();
  CHECK(machine.points() == 0);
}

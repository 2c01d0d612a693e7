/// Kernels that break a rule of the machine are reported, with the seed and with every lane's
/// place.
#include "run.hpp"
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt_host/dump.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// The message of the schedule_error that `body` ends in.
template <class Body>
std::string complaint(host::options chosen, std::uint32_t block, Body body) {
  try {
    run(chosen, 1, block, body);
  } catch (const host::schedule_error& e) {
    return e.what();
  }
  return "no schedule_error";
}

bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("shfl from an exited lane is an error") {
  const std::string text = complaint({}, 32, [](auto& lane) {
    if (lane.thread() == 3) return;
    static_cast<void>(lane.warp().shfl(1u, 3));
  });
  CHECK_MESSAGE(says(text, "shfl reads a lane"), text);
}

TEST_CASE("a collective of a group without the caller is an error") {
  const std::string text =
      complaint({}, 32, [](auto&) { static_cast<void>(simt::group(0x1u).any(1)); });
  CHECK_MESSAGE(says(text, "a group it is not in"), text);
}

TEST_CASE("different collectives in two branches of a warp are a deadlock, in every mode") {
  for (host::mode mode : {host::mode::fast, host::mode::seeded, host::mode::weak}) {
    const std::string text = complaint({.run = mode, .seed = 9}, 32, [](auto& lane) {
      if (lane.thread() < 5) {
        lane.warp().sync();
      } else {
        static_cast<void>(lane.warp().ballot(1));
      }
    });
    CHECK_MESSAGE(says(text, "deadlock"), text);
    CHECK_MESSAGE(says(text, "seed 9"), text);
    CHECK_MESSAGE(says(text, "waits in sync at"), text);
    CHECK_MESSAGE(says(text, "broken_kernels.cpp:"), text);
    CHECK_MESSAGE(says(text, "grid 0 (gpu0) block 0 warp 0 lane 0"), text);
  }
}

TEST_CASE("a deadlock is reported although another grid polls for ever") {
  for (int way = 0; way < 3; ++way) {
    CAPTURE(way);
    std::uint32_t never = 0;
    host::executor machine;
    machine.spawn_in(host::domain::nic, 1, 1, lambda_kernel{[&](auto& lane) {
                       for (until wait{simt::within(20'000'000'000)}; wait;) lane.pause();
                       device_word<std::uint32_t>(never).store(1, relaxed);
                     }});
    machine.spawn(1, 32, lambda_kernel{[=](auto& lane) {
                    const bool odd_one = lane.thread() == (way == 0 ? 0 : 31);
                    if (!odd_one) {
                      lane.warp().sync();
                    } else if (way == 2) {
                      static_cast<void>(lane.warp().any(1));
                    } else {
                      lane.sync_block();
                    }
                  }});
    CHECK_THROWS_WITH_AS(machine.run(), doctest::Contains("deadlock"), host::schedule_error);
    CHECK(never == 0);
  }
}

TEST_CASE("a barrier that one lane never reaches is a deadlock") {
  const std::string text = complaint({}, 64, [](auto& lane) {
    if (lane.thread() == 40) {
      simt::group(0x300u).sync();
    } else {
      lane.sync_block();
    }
  });
  CHECK_MESSAGE(says(text, "deadlock"), text);
}

TEST_CASE("a spin lock that is released only after a warp barrier is a livelock") {
  std::uint32_t lock = 0;
  const std::string text =
      complaint({.run = host::mode::seeded, .step_budget = 100'000}, 32, [&](auto& lane) {
        while (device_word<std::uint32_t>(lock).exchange(1, acquire) != 0) {
        }
        lane.warp().sync();
        device_word<std::uint32_t>(lock).store(0, release);
      });
  CHECK_MESSAGE(says(text, "livelock"), text);
  CHECK_MESSAGE(says(text, "last point: exchange"), text);
}

TEST_CASE("a word at device scope that two domains use is a scope violation") {
  for (host::mode mode : {host::mode::seeded, host::mode::weak}) {
    std::uint32_t word = 0;
    host::executor machine({.run = mode, .seed = 2});
    auto add = [&](auto&) { device_word<std::uint32_t>(word).fetch_add(1, relaxed); };
    machine.spawn(1, 1, lambda_kernel{add});
    machine.spawn_in(host::domain::nic, 1, 1, lambda_kernel{add});
    CHECK_THROWS_WITH_AS(machine.run(), doctest::Contains("is used at device scope from domains"),
                         host::schedule_error);
  }
}

TEST_CASE("one use at device scope spoils a word that another domain uses at system scope") {
  std::uint32_t word = 0;
  host::executor machine(seeded(3));
  machine.spawn(1, 1,
                lambda_kernel{[&](auto&) { device_word<std::uint32_t>(word).store(1, release); }});
  machine.spawn_in(host::domain::cpu, 1, 1, lambda_kernel{[&](auto&) {
                     static_cast<void>(system_word<std::uint32_t>(word).load(acquire));
                   }});
  CHECK_THROWS_WITH_AS(machine.run(), doctest::Contains("scope violation"), host::schedule_error);
}

TEST_CASE("a word at block scope that two blocks use is a scope violation") {
  std::uint32_t word = 0;
  CHECK_THROWS_WITH_AS(run(seeded(1), 2, 1,
                           [&](auto&) {
                             atomic_ref<std::uint32_t, thread_scope_block>(word).fetch_add(1,
                                                                                           relaxed);
                           }),
                       doctest::Contains("block scope from two blocks"), host::schedule_error);
}

TEST_CASE("the right scopes are no violation") {
  std::uint32_t near[2] = {};
  std::uint32_t device = 0;
  std::uint32_t system = 0;
  host::executor machine(seeded(4));
  auto right = [&](auto& lane) {
    atomic_ref<std::uint32_t, thread_scope_block>(near[lane.block()]).fetch_add(1, relaxed);
    device_word<std::uint32_t>(device).fetch_add(1, relaxed);
    system_word<std::uint32_t>(system).fetch_add(1, relaxed);
  };
  machine.spawn(2, 40, lambda_kernel{right});
  machine.spawn_in(host::domain::nic, 1, 1, lambda_kernel{[&](auto&) {
                     system_word<std::uint32_t>(system).fetch_add(1, relaxed);
                   }});
  machine.run();
  CHECK(near[0] == 40);
  CHECK(device == 80);
  CHECK(system == 81);
}

TEST_CASE("the lane dump names every live lane while a kernel runs, and none outside") {
  std::string seen;
  run({}, 1, 33, [&](auto& lane) {
    if (lane.thread() == 32) {
      lane.pause();
      seen = host::describe_lanes();
    } else {
      lane.sync_block();
    }
  });
  CHECK_MESSAGE(says(seen, "warp 0 lane 31: waits in sync_block at"), seen);
  CHECK_MESSAGE(says(seen, "warp 1 lane 0: runs, last point: pause"), seen);
  CHECK(host::describe_lanes().empty());
}

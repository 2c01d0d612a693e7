#include "run.hpp"
#include <gnstor/core/assert.hpp>
#include <gnstor/simt/atomic_ref.hpp>

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cstring>
#include <string>
#include <thread>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("an exception that leaves a lane reaches the runner as it was thrown") {
  host::executor machine(seeded(42));
  machine.spawn(4, 64, lambda_kernel{[](auto& lane) {
                  lane.sync_block();
                  if (lane.block() == 2 && lane.thread() == 40) throw 7;
                  lane.warp().sync();
                }});
  CHECK_THROWS_AS(machine.run(), int);
  CHECK(machine.failure().find("seed 42") != std::string::npos);
  CHECK(machine.failure().find("block 2 warp 1 lane 8") != std::string::npos);
}

TEST_CASE("a failed GNSTOR_VERIFY names the seed and the lane") {
  host::executor machine(weak(43));
  machine.spawn(1, 32, lambda_kernel{[](auto& lane) { GNSTOR_VERIFY(lane.thread() != 9); }});
  try {
    machine.run();
    FAIL("no verify_error");
  } catch (const verify_error& e) {
    const std::string text = e.what();
    CHECK_MESSAGE(text.find("lane.thread() != 9 [mode weak, seed 43, points ") != std::string::npos,
                  text);
    CHECK_MESSAGE(text.find("warp 0 lane 9]") != std::string::npos, text);
  }
}

TEST_CASE("after a failure the same executor and the same stacks run again") {
  host::executor machine(seeded(1));
  for (int round = 0; round < 20; ++round) {
    machine.spawn(4, 64, lambda_kernel{[](auto& lane) {
                    volatile char local[2000];
                    local[1999] = static_cast<char>(lane.thread());
                    lane.sync_block();
                    if (lane.thread() == 40) throw 7;
                    lane.warp().sync();
                    CHECK(local[1999] == static_cast<char>(lane.thread()));
                  }});
    CHECK_THROWS_AS(machine.run(), int);
    std::uint32_t ran = 0;
    machine.spawn(1, 64, lambda_kernel{[&](auto& lane) {
                    lane.sync_block();
                    device_word<std::uint32_t>(ran).fetch_add(1, relaxed);
                  }});
    machine.run();
    CHECK(ran == 64);
    CHECK(machine.failure().empty());
  }
}

TEST_CASE("a switch inside a catch handler keeps each lane's exception") {
  for (host::options chosen : {host::options{}, seeded(5)}) {
    run(chosen, 1, 8, [](auto& lane) {
      int got = -1;
      try {
        try {
          throw static_cast<int>(lane.thread());
        } catch (...) {
          lane.pause();
          throw;
        }
      } catch (int thrown) {
        got = thrown;
      }
      CHECK(got == static_cast<int>(lane.thread()));
    });
  }
}

TEST_CASE("an executor inside a lane is refused") {
  CHECK_THROWS_AS(run({}, 1, 1, [](auto&) { run({}, 1, 1, [](auto&) {}); }), std::logic_error);
}

TEST_CASE("a grid or a block that a GPU would refuse is refused here") {
  host::executor machine;
  const lambda_kernel nothing{[](auto&) {}};
  CHECK_NOTHROW(machine.spawn(1, {32, 32}, nothing));
  CHECK_THROWS_WITH_AS(machine.spawn(1, {32, 33}, nothing),
                       doctest::Contains("a block of 1056 threads: a GPU runs 1 to 1024"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(machine.spawn(1, 0, nothing), doctest::Contains("a block of 0 threads"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(machine.spawn(0, 32, nothing), doctest::Contains("a grid of no blocks"),
                       std::invalid_argument);
  CHECK_NOTHROW(machine.run());
}

TEST_CASE(
    "memory mapped where a thread's stacks were is clean of what abandoned lanes left there") {
  for (int round = 0; round < 4; ++round) {
    std::thread([] {
      host::executor machine(seeded(1));
      machine.spawn(4, 64, lambda_kernel{[](auto& lane) {
                      volatile char local[2000];
                      local[1999] = static_cast<char>(lane.thread());
                      lane.sync_block();
                      if (lane.thread() == 40) throw local[1999];
                      lane.warp().sync();
                    }});
      CHECK_THROWS_AS(machine.run(), char);
    }).join();
    // AddressSanitizer looks at the copies: the kernel hands out the addresses it got back last.
    constexpr std::size_t bytes = 64 << 20;
    void* fresh = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(fresh != MAP_FAILED);
    std::memset(fresh, 1, bytes);
    CHECK(static_cast<char*>(fresh)[bytes - 1] == 1);
    munmap(fresh, bytes);
  }
}

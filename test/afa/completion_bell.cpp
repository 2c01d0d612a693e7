/// Who sleeps until there are completions is woken, whatever came between its look and its sleep.
#include <hca/completion_bell.hpp>

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>

using namespace gnstor;

TEST_CASE("a bell rings once for each time that it was armed, and never when it was not") {
  std::uint32_t rings = 0;
  fw::completion_bell bell([](void* n) { ++*static_cast<std::uint32_t*>(n); }, &rings);
  bell.after_completions();
  CHECK(rings == 0);
  bell.arm();
  bell.after_completions();
  bell.after_completions();
  CHECK(rings == 1);
}

TEST_CASE("no completion is slept through") {
  int fd = eventfd(0, EFD_CLOEXEC);
  REQUIRE(fd >= 0);
  fw::completion_bell bell(
      [](void* to) {
        constexpr std::uint64_t one = 1;
        (void)!::write(*static_cast<int*>(to), &one, sizeof one);
      },
      &fd);
  constexpr std::uint32_t completions = 20000;
  std::atomic<std::uint32_t> written{0};
  std::atomic<std::uint32_t> taken{0};
  std::thread engine([&] {
    for (std::uint32_t n = 1; n <= completions; ++n) {
      written.store(n, std::memory_order_release);
      bell.after_completions();
      for (; taken.load(std::memory_order_acquire) != n;) std::this_thread::yield();
    }
  });
  std::uint32_t slept_through = 0;
  std::uint32_t seen = 0;
  const auto look = [&] {
    const std::uint32_t now = written.load(std::memory_order_acquire);
    if (now == seen) return false;
    taken.store(seen = now, std::memory_order_release);
    return true;
  };
  for (; seen != completions;) {
    if (look()) continue;
    bell.arm();
    if (look()) continue;
    pollfd readable{fd, POLLIN, 0};
    slept_through += ::poll(&readable, 1, 5000) == 0;
    std::uint64_t count = 0;
    if ((readable.revents & POLLIN) != 0) (void)!::read(fd, &count, sizeof count);
  }
  engine.join();
  ::close(fd);
  CHECK(slept_through == 0);
}

/// Races on plain payload, which only ThreadSanitizer sees. Each body runs in a process of its own,
/// so that any other report still fails this binary.
// label: tsan
#if defined(__SANITIZE_THREAD__)

#include "run.hpp"
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/fence.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

using namespace gnstor;
using namespace gnstor::test;

namespace {
int reports = 0;
}

extern "C" {
__attribute__((no_sanitize("thread"))) void __tsan_on_report(void*);
__attribute__((no_sanitize("thread"))) void __tsan_on_report(void*) { ++reports; }
// Without suppress_equal_stacks=0 only the first of many seeds would report.
const char* __tsan_default_options();
__attribute__((no_sanitize("thread"))) const char* __tsan_default_options() {
  return "suppress_equal_stacks=0";
}
}

namespace {

constexpr std::uint64_t seeds = 10;

/// Runs `body(seed)` for every seed and ends the process with the number of seeds that were
/// reported.
template <class Body>
[[noreturn]] void end_with_reports(Body body) {
  long found = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    reports = 0;
    body(seed);
    found += reports != 0 ? 1 : 0;
  }
  syscall(SYS_exit_group, found);  // _exit would replace the number by ThreadSanitizer's own
  std::abort();
}

/// How many seeds the skipped case `name` of this binary ends with, in a new process.
int reported(const std::string& name) {
  const pid_t child = fork();
  if (child == 0) {
    const int sink = open("/dev/null", O_WRONLY);
    dup2(sink, STDOUT_FILENO);
    dup2(sink, STDERR_FILENO);
    const std::string only = "--test-case=" + name;
    execl("/proc/self/exe", "test", only.c_str(), "--no-skip", static_cast<char*>(nullptr));
    syscall(SYS_exit_group, 255L);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

template <memory_order Publish, memory_order Observe, bool Fences>
void send_payload(std::uint64_t seed) {
  std::uint64_t payload[4] = {};
  std::uint32_t flag = 0;
  run(seeded(seed), 2, 1, [&](auto& lane) {
    const system_word<std::uint32_t> word(flag);
    if (lane.block() == 0) {
      for (std::uint64_t& p : payload) p = 7;
      if (Fences) simt::fence<thread_scope_system>(release);
      word.store(1, Publish);
      return;
    }
    for (bounded n{1000}; n;) {
      if (word.load(Observe) == 0) continue;
      if (Fences) simt::fence<thread_scope_system>(acquire);
      volatile std::uint64_t seen = payload[3];
      static_cast<void>(seen);
      return;
    }
  });
}

/// A leader acquires; the other lanes of its warp read the payload after a broadcast, with or
/// without a sync.
template <bool WithSync>
void leader_acquires(std::uint64_t seed) {
  std::uint64_t payload = 0;
  std::uint32_t flag = 0;
  host::executor machine(seeded(seed));
  machine.spawn(1, 1, lambda_kernel{[&](auto&) {
                  payload = 7;
                  system_word<std::uint32_t>(flag).store(1, release);
                }});
  machine.spawn(1, 32, lambda_kernel{[&](auto& lane) {
                  const simt::group warp = lane.warp();
                  std::uint32_t ready = 0;
                  for (bounded n{1000}; ready == 0 && n;) {
                    if (warp.leads()) ready = system_word<std::uint32_t>(flag).load(acquire);
                    ready = warp.broadcast(ready);
                  }
                  if (WithSync) warp.sync();
                  if (ready == 0) return;
                  volatile std::uint64_t seen = payload;
                  static_cast<void>(seen);
                }});
  machine.run();
}

/// Lanes hand a value on through shared memory, with a barrier or without.
template <bool WithBarrier>
void hand_over(std::uint64_t seed) {
  std::uint32_t slots[64] = {};
  run(seeded(seed), 1, 64, [&](auto& lane) {
    slots[lane.thread()] = lane.thread();
    if (WithBarrier) lane.sync_block();
    volatile std::uint32_t next = slots[(lane.thread() + 1) % 64];
    static_cast<void>(next);
  });
}

}  // namespace

TEST_CASE("body: relaxed publish" * doctest::skip()) {
  end_with_reports(send_payload<relaxed, acquire, false>);
}
TEST_CASE("body: release publish" * doctest::skip()) {
  end_with_reports(send_payload<release, acquire, false>);
}
TEST_CASE("body: fenced publish" * doctest::skip()) {
  end_with_reports(send_payload<relaxed, relaxed, true>);
}
TEST_CASE("body: leader without sync" * doctest::skip()) {
  end_with_reports(leader_acquires<false>);
}
TEST_CASE("body: leader with sync" * doctest::skip()) { end_with_reports(leader_acquires<true>); }
TEST_CASE("body: no barrier" * doctest::skip()) { end_with_reports(hand_over<false>); }
TEST_CASE("body: barrier" * doctest::skip()) { end_with_reports(hand_over<true>); }

TEST_CASE("a payload behind a relaxed flag is reported; behind release and acquire it is not") {
  CHECK(reported("body: relaxed publish") > 0);
  CHECK(reported("body: release publish") == 0);
}

TEST_CASE("fences order a payload for ThreadSanitizer too") {
  CHECK(reported("body: fenced publish") == 0);
}

TEST_CASE("a leader's acquire does not cover its warp without a sync") {
  CHECK(reported("body: leader without sync") > 0);
  CHECK(reported("body: leader with sync") == 0);
}

TEST_CASE("threads of a block share memory through a barrier only") {
  CHECK(reported("body: no barrier") > 0);
  CHECK(reported("body: barrier") == 0);
}

#endif

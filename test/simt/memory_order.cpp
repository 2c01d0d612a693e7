/// Wrong memory orders: the weak mode finds them, the seeded mode never does, and right orders
/// raise no false alarm.
#include "run.hpp"
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/fence.hpp>

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using word = system_word<std::uint32_t>;

/// What becomes of a message: its flag was never seen, it came with its payload, or without.
enum class delivery : std::uint8_t { unheard, whole, hollow };

/// One lane writes a payload word, then a flag; another waits for the flag.
template <memory_order Publish, memory_order Observe, bool Fences = false>
delivery message(host::options chosen) {
  std::uint32_t payload = 0;
  std::uint32_t flag = 0;
  delivery heard = delivery::unheard;
  run(chosen, 2, 1, [&](auto& lane) {
    if (lane.block() == 0) {
      word(payload).store(1, relaxed);
      if (Fences) simt::fence<thread_scope_system>(release);
      word(flag).store(1, Publish);
      return;
    }
    for (bounded n{100000}; n;) {
      if (word(flag).load(Observe) == 0) continue;
      if (Fences) simt::fence<thread_scope_system>(acquire);
      heard = word(payload).load(relaxed) == 0 ? delivery::hollow : delivery::whole;
      return;
    }
  });
  return heard;
}
template <memory_order Publish, memory_order Observe, bool Fences = false>
bool misses_the_message(host::options chosen) {
  return message<Publish, Observe, Fences>(chosen) == delivery::hollow;
}
template <memory_order Publish, memory_order Observe, bool Fences = false>
bool hears_the_message(host::options chosen) {
  return message<Publish, Observe, Fences>(chosen) == delivery::whole;
}

/// Two lanes each set their own flag and read the other's. True if both read 0.
bool both_enter(host::options chosen, bool fences) {
  std::uint32_t flags[2] = {};
  std::uint32_t read[2] = {1, 1};
  run(chosen, 2, 1, [&](auto& lane) {
    const std::uint32_t me = lane.block();
    word(flags[me]).store(1, relaxed);
    if (fences) simt::fence<thread_scope_system>(acq_rel);
    read[me] = word(flags[1 - me]).load(relaxed);
  });
  return read[0] == 0 && read[1] == 0;
}

/// A third lane adds to the flag between writer and reader.
delivery through(host::options chosen, bool by_rmw) {
  std::uint32_t payload = 0;
  std::uint32_t flag = 0;
  delivery heard = delivery::unheard;
  run(chosen, 3, 1, [&](auto& lane) {
    if (lane.block() == 0) {
      word(payload).store(1, relaxed);
      word(flag).store(1, release);
    } else if (lane.block() == 1) {
      for (bounded n{100000}; n;) {
        if (word(flag).load(relaxed) != 1) continue;
        if (by_rmw) {
          word(flag).fetch_add(1, relaxed);
        } else {
          word(flag).store(2, relaxed);
        }
        return;
      }
    } else {
      for (bounded n{100000}; n;) {
        if (word(flag).load(acquire) != 2) continue;
        heard = word(payload).load(relaxed) == 0 ? delivery::hollow : delivery::whole;
        return;
      }
    }
  });
  return heard;
}

/// A leader reads a growing word; another lane of its warp reads it later. True if the other sees
/// an older value.
bool goes_back(host::options chosen, bool with_sync) {
  std::uint32_t counter = 0;
  bool back = false;
  host::executor machine(chosen);
  machine.spawn(1, 1, lambda_kernel{[&](auto&) {
                  for (std::uint32_t k = 1; k <= 8; ++k) word(counter).store(k, relaxed);
                }});
  machine.spawn(1, 2, lambda_kernel{[&](auto& lane) {
                  const simt::group pair(0x3u);
                  std::uint32_t seen = lane.thread() == 0 ? word(counter).load(relaxed) : 0;
                  if (with_sync) pair.sync();
                  seen = pair.broadcast(seen);
                  if (lane.thread() == 1 && word(counter).load(relaxed) < seen) back = true;
                }});
  machine.run();
  return back;
}

/// A lane whose compare-exchange fails has read the newest value. True if it then loads an older
/// one.
bool forgets_a_failed_exchange(host::options chosen) {
  std::uint32_t counter = 0;
  bool back = false;
  run(chosen, 2, 1, [&](auto& lane) {
    if (lane.block() == 0) {
      for (std::uint32_t k = 1; k <= 8; ++k) word(counter).store(k, relaxed);
    } else {
      std::uint32_t seen = 100;
      if (!word(counter).compare_exchange(seen, 0, relaxed))
        back = word(counter).load(relaxed) < seen;
    }
  });
  return back;
}

std::uint64_t count_weak(bool (*found)(host::options)) {
  return count_seeds(sweep_seeds, [&](std::uint64_t s) { return found(weak(s)); });
}
std::uint64_t count_seeded(bool (*found)(host::options)) {
  return count_seeds(sweep_seeds, [&](std::uint64_t s) { return found(seeded(s)); });
}

}  // namespace

TEST_CASE("a message published or observed relaxed is missed in weak mode, never in seeded mode") {
  CHECK(count_seeded(hears_the_message<relaxed, acquire>) == sweep_seeds);
  CHECK(count_seeded(hears_the_message<release, relaxed>) == sweep_seeds);
  for (auto* wrong : {misses_the_message<relaxed, acquire>, misses_the_message<release, relaxed>}) {
    CHECK(count_seeded(wrong) == 0);
    const std::uint64_t seed =
        first_seed(sweep_seeds, [&](std::uint64_t s) { return wrong(weak(s)); });
    MESSAGE("first seed " << seed << ", found by " << count_weak(wrong) << " of " << sweep_seeds);
    CHECK(seed > 0);
  }
}

TEST_CASE("a message with release and acquire is never missed") {
  CHECK(count_weak(misses_the_message<release, acquire>) == 0);
  CHECK(count_weak(hears_the_message<release, acquire>) == sweep_seeds);
}

TEST_CASE("relaxed words between a release fence and an acquire fence carry a message") {
  CHECK(count_weak(misses_the_message<relaxed, relaxed, true>) == 0);
  CHECK(count_weak(hears_the_message<relaxed, relaxed, true>) == sweep_seeds);
}

TEST_CASE("two lanes may both miss the other's flag, and an acq_rel fence does not prevent it") {
  CHECK(count_seeds(sweep_seeds, [](std::uint64_t s) { return both_enter(seeded(s), false); }) ==
        0);
  for (bool fences : {false, true}) {
    const std::uint64_t seed =
        first_seed(sweep_seeds, [&](std::uint64_t s) { return both_enter(weak(s), fences); });
    MESSAGE("first seed " << seed);
    CHECK(seed > 0);
  }
}

TEST_CASE("a relaxed read-modify-write hands a release on; a relaxed store does not") {
  const auto count = [](delivery wanted) {
    return count_seeds(sweep_seeds,
                       [&](std::uint64_t s) { return through(weak(s), true) == wanted; });
  };
  CHECK(count(delivery::hollow) == 0);
  CHECK(count(delivery::whole) == sweep_seeds);
  const std::uint64_t seed = first_seed(
      sweep_seeds, [](std::uint64_t s) { return through(weak(s), false) == delivery::hollow; });
  MESSAGE("first seed " << seed);
  CHECK(seed > 0);
}

TEST_CASE(
    "only sync orders the lanes of a warp: a broadcast alone lets the next lane read an older "
    "value") {
  CHECK(count_seeds(sweep_seeds, [](std::uint64_t s) { return goes_back(weak(s), true); }) == 0);
  const std::uint64_t seed =
      first_seed(sweep_seeds, [](std::uint64_t s) { return goes_back(weak(s), false); });
  MESSAGE("first seed " << seed);
  CHECK(seed > 0);
}

TEST_CASE("after a failed compare-exchange no older value is loaded") {
  CHECK(count_weak(forgets_a_failed_exchange) == 0);
}

TEST_CASE("a word written by plain stores between two kernels is read as it stands") {
  std::uint32_t shared_word = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    host::executor machine(weak(seed));
    for (std::uint32_t round = 1; round <= 3; ++round) {
      shared_word = 10 * round;
      machine.spawn(1, 32, lambda_kernel{[&](auto&) { word(shared_word).fetch_add(1, relaxed); }});
      machine.run();
      REQUIRE(shared_word == 10 * round + 32);
    }
  }
}

TEST_CASE("a long weak run forgets old stores instead of growing, and stays right") {
  std::uint32_t tickets = 0;
  std::uint32_t sum = 0;
  constexpr std::uint32_t rounds = 2000;
  run({.run = host::mode::weak, .seed = 5, .step_budget = ~std::uint64_t{0}}, 1, 16, [&](auto&) {
    for (std::uint32_t k = 0; k < rounds; ++k) {
      const std::uint32_t mine = word(tickets).fetch_add(1, acq_rel);
      word(sum).fetch_add(mine, release);
    }
  });
  const std::uint32_t count = 16 * rounds;
  CHECK(tickets == count);
  CHECK(sum == count / 2 * (count - 1));
}

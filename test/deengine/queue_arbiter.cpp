/// Weighted round robin with urgent class against the shares that NVMe's description gives.
#include <deengine/queue_arbiter.hpp>
#include <gnstor/core/hash.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace gnstor;
using fw::arbitration;
using fw::queue_arbiter;
using fw::queue_class;

namespace {

/// How often each queue was chosen in `rounds` choices.
std::vector<std::uint32_t> chosen(queue_arbiter& a, std::uint64_t waiting, std::uint32_t rounds) {
  std::vector<std::uint32_t> count(queue_arbiter::most_queues);
  for (std::uint32_t k = 0; k < rounds; ++k) {
    const std::uint32_t q = a.next(waiting);
    if (q >= queue_arbiter::most_queues || (waiting >> q & 1) == 0)
      FAIL("a queue without commands");
    ++count[q];
  }
  return count;
}

}  // namespace

TEST_CASE("classes that always have commands get shares by their weights, and queues equal ones") {
  for (const std::uint32_t burst : {0u, 1u, 3u, 7u}) {
    for (std::uint64_t draw = 1; draw < 20; ++draw) {
      CAPTURE(burst);
      CAPTURE(draw);
      const std::uint64_t bits = mix64(draw);
      arbitration rules;
      rules.burst_log2 = static_cast<std::uint8_t>(burst);
      rules.low = bits & 15;
      rules.medium = bits >> 8 & 31;
      rules.high = bits >> 16 & 63;
      queue_arbiter a(rules);
      // Two queues of the high class, three of the medium, one of the low.
      const queue_class of[] = {queue_class::high,   queue_class::high,   queue_class::medium,
                                queue_class::medium, queue_class::medium, queue_class::low};
      for (std::uint32_t q = 0; q < 6; ++q) a.add(q, of[q]);
      const std::uint32_t sum = rules.weight(queue_class::high) +
                                rules.weight(queue_class::medium) + rules.weight(queue_class::low);
      const std::uint32_t rounds = 60 * sum * 64;
      const auto count = chosen(a, 0x3f, rounds);
      const auto share = [&](queue_class c) {
        std::uint32_t n = 0;
        for (std::uint32_t q = 0; q < 6; ++q) n += of[q] == c ? count[q] : 0;
        return n;
      };
      for (const queue_class c : {queue_class::high, queue_class::medium, queue_class::low})
        CHECK(share(c) == 60 * 64 * rules.weight(c));
      if (burst == 7) continue;  // no limit: a queue keeps its class until it is empty
      for (std::uint32_t q = 0; q < 6; ++q) {
        const std::uint32_t fair = share(of[q]) / (of[q] == queue_class::high     ? 2
                                                   : of[q] == queue_class::medium ? 3
                                                                                  : 1);
        CHECK(count[q] + (1u << burst) >= fair);
        CHECK(count[q] <= fair + (1u << burst));
      }
    }
  }
}

TEST_CASE("the admin queue goes first, then urgent queues, and others when these are empty") {
  queue_arbiter a({.burst_log2 = 0, .low = 0, .medium = 0, .high = 9});
  a.add(0, queue_class::admin);
  a.add(1, queue_class::urgent);
  a.add(2, queue_class::urgent);
  a.add(3, queue_class::high);
  a.add(63, queue_class::low);
  CHECK(a.next(0) == queue_arbiter::none);
  CHECK(chosen(a, ~std::uint64_t{0}, 10)[0] == 10);
  const auto urgent = chosen(a, ~std::uint64_t{1}, 10);
  CHECK(urgent[1] == 5);
  CHECK(urgent[2] == 5);
  const std::uint64_t rest = std::uint64_t{1} << 63 | 8;
  const auto others = chosen(a, rest, 110);
  CHECK(others[3] == 100);
  CHECK(others[63] == 10);
  // What an empty class leaves goes to the others: nobody waits for a queue without commands.
  CHECK(chosen(a, std::uint64_t{1} << 63, 7)[63] == 7);
}

TEST_CASE("a burst is so many commands of one queue, and ends with its last command") {
  queue_arbiter a({.burst_log2 = 2});
  for (std::uint32_t q = 0; q < 3; ++q) a.add(q, queue_class::urgent);
  std::vector<std::uint32_t> order;
  for (int k = 0; k < 12; ++k) order.push_back(a.next(7));
  CHECK(order == std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2});
  CHECK(a.next(7) == 0);
  CHECK(a.next(6) == 1);  // queue 0 has none left
  CHECK(a.next(7) == 1);
  a.remove(1);
  CHECK(a.next(7) == 2);
  CHECK(a.next(2) == queue_arbiter::none);
}

TEST_CASE("weights are what Set Features says, and new ones begin a new round") {
  const arbitration rules = arbitration::unpack(0x10080402);
  CHECK(rules.burst() == 4);
  CHECK(rules.weight(queue_class::low) == 5);
  CHECK(rules.weight(queue_class::medium) == 9);
  CHECK(rules.weight(queue_class::high) == 17);
  CHECK(rules.pack() == 0x10080402);
  CHECK(arbitration::unpack(7).burst() == ~0u);
  queue_arbiter a(rules);
  a.add(0, queue_class::high);
  a.add(1, queue_class::low);
  (void)chosen(a, 3, 5);
  a.set({.burst_log2 = 0});
  const auto even = chosen(a, 3, 100);
  CHECK(even[0] == 50);
  CHECK(even[1] == 50);
}

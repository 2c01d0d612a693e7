/// Request slots for whole warps: all of them or none, as long as they are patient.
#include "qp/seed_sweep.hpp"
#include <gnstor/channel/request_table.hpp>
#include <gnstor/simt/lane.hpp>

#include <algorithm>
#include <set>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using device_table = request_table<thread_scope_device>;

struct table_memory_of {
  explicit table_memory_of(std::uint32_t slots)
      : words(device_table::bytes(slots) / 8 + 8),
        table(reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(words.data()) + 31) / 32 *
                                      32),
              slots) {}
  std::vector<std::uint64_t> words;
  device_table table;
};

/// What a warp of `lanes` lanes gets that claims once.
std::vector<ticket> claimed(const device_table& table, std::uint32_t lanes,
                            std::uint32_t refusals = 0) {
  std::vector<result<ticket>> got(lanes, status::make(status_code::would_block, reporter::channel));
  host::executor machine(host::options{});
  machine.spawn(1, lanes,
                [&](auto& lane) { got[lane.thread()] = table.claim(lane.warp(), refusals); });
  machine.run();
  std::vector<ticket> mine;
  for (const result<ticket>& one : got) {
    if (one) mine.push_back(one.value);
  }
  return mine;
}

std::set<std::uint32_t> words_of(const device_table& table, const std::vector<ticket>& tickets) {
  std::set<std::uint32_t> words;
  for (const ticket t : tickets) words.insert(table.slot_of(t) / 32);
  return words;
}

/// Warps that claim for all their lanes, hold the slots for a moment and give them back.
std::string claims_raced(host::options chosen) {
  constexpr std::uint32_t slots = 64;
  constexpr std::uint32_t rounds = 3;
  table_memory_of m(slots);
  std::vector<std::uint32_t> owner(slots);
  std::uint32_t torn = 0;
  std::uint32_t shared = 0;
  std::uint32_t stuck = 0;
  host::executor machine(chosen);
  const auto warps = [&](auto& lane) {
    const simt::group warp = lane.warp();
    for (std::uint32_t round = 0; round < rounds; ++round) {
      result<ticket> mine = status::make(status_code::would_block, reporter::channel);
      for (bounded tries{20'000u}; tries && !warp.any(mine.status.ok());) {
        // Patient all the time, in its first attempt as in later ones.
        mine = m.table.claim(warp, round % 2 != 0 ? 1 : 0);
        if (!warp.any(mine.status.ok())) simt::pause();
      }
      const std::uint32_t got = warp.count(mine.status.ok());
      if (got != warp.size())
        device_word<std::uint32_t>(got == 0 ? stuck : torn).fetch_add(1, relaxed);
      if (!mine) continue;
      // Relaxed: that the slot's former owner is done with it comes with the claim alone.
      const device_word<std::uint32_t> word(owner[m.table.slot_of(mine.value)]);
      const std::uint32_t me = lane.global_thread() + 1;
      std::uint32_t wrong = word.load(relaxed) != 0 ? 1 : 0;
      word.store(me, relaxed);
      simt::pause();
      wrong += word.load(relaxed) != me ? 1 : 0;
      word.store(0, relaxed);
      device_word<std::uint32_t>(shared).fetch_add(wrong, relaxed);
      m.table.cancel(mine.value);
    }
  };
  machine.spawn(2, 20, warps);
  machine.spawn(1, 9, warps);
  machine.spawn(1, 32, warps);
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  if (stuck != 0) return "a warp waited for ever";
  if (torn != 0) return "a patient warp got slots for some of its lanes";
  if (shared != 0) return "two lanes had one slot";
  if (m.table.in_use() != 0) return "a slot was lost";
  return {};
}

}  // namespace

TEST_CASE("warps get slots for all their lanes or none, and share none, seeded") {
  sweep(host::mode::seeded, 100, claims_raced);
}

TEST_CASE("warps get slots for all their lanes or none, and share none, weak") {
  sweep(host::mode::weak, 50, claims_raced);
}

TEST_CASE("a whole warp takes a word of slots, and waits while no word is free") {
  table_memory_of m(128);
  std::vector<std::vector<ticket>> warps;
  std::set<std::uint32_t> words;
  for (int k = 0; k < 4; ++k) {
    warps.push_back(claimed(m.table, 32));
    REQUIRE(warps.back().size() == 32);
    CHECK(words_of(m.table, warps.back()).size() == 1);
    words.merge(words_of(m.table, warps.back()));
  }
  CHECK(words.size() == 4);
  CHECK(claimed(m.table, 32).empty());
  // As many free slots as lanes, but of two words.
  for (int k = 0; k < 16; ++k) {
    m.table.cancel(warps[1][k]);
    m.table.cancel(warps[2][k]);
  }
  CHECK(claimed(m.table, 32, 1).empty());
  CHECK(m.table.in_use() == 96);
  for (int k = 16; k < 32; ++k) m.table.cancel(warps[2][k]);
  CHECK(words_of(m.table, claimed(m.table, 32, 1)) == words_of(m.table, warps[2]));
}

TEST_CASE("a few lanes take slots where few are left, so that a whole warp still finds a word") {
  table_memory_of m(64);
  const auto other = claimed(m.table, 20);
  const auto first = claimed(m.table, 20);
  REQUIRE(first.size() == 20);
  for (const ticket t : other) m.table.cancel(t);
  for (int k = 0; k < 3; ++k) {
    const auto few = claimed(m.table, 4);
    REQUIRE(few.size() == 4);
    CHECK(words_of(m.table, few) == words_of(m.table, first));
  }
  CHECK(claimed(m.table, 32).size() == 32);
}

TEST_CASE("more lanes than slots: as many as there are slots, when all are free") {
  table_memory_of m(8);
  const auto all = claimed(m.table, 20);
  CHECK(all.size() == 8);
  CHECK(m.table.in_use() == 8);
  m.table.cancel(all.front());
  CHECK(claimed(m.table, 20, 1).empty());
}

TEST_CASE("lanes take what there is when their patience ends, and when nobody waits") {
  table_memory_of m(64);
  REQUIRE(claimed(m.table, 20).size() == 20);
  REQUIRE(claimed(m.table, 20).size() == 20);
  CHECK(claimed(m.table, 20, device_table::most_refusals - 1).empty());
  const auto late = claimed(m.table, 20, device_table::most_refusals);
  CHECK(late.size() == 20);
  CHECK(words_of(m.table, late).size() == 2);
  CHECK(claimed(m.table, 20, device_table::impatient).size() == 4);
}

TEST_CASE("where requests given up keep slots, lanes take what there is, until the late answers") {
  table_memory_of m(64);
  const auto a = claimed(m.table, 20);
  const auto b = claimed(m.table, 20);
  REQUIRE(m.table.abandon(a.front()));
  REQUIRE(m.table.abandon(b.front()));
  CHECK(claimed(m.table, 20, 0).empty());  // at first they hope
  const auto torn = claimed(m.table, 20, 1);
  CHECK(torn.size() == 20);
  for (const ticket t : torn) m.table.cancel(t);
  CHECK(m.table.complete(a.front().id, {}, 0) == device_table::answer::late);
  const auto again = claimed(m.table, 20, 1);
  CHECK(again.size() == 20);
  for (const ticket t : again) m.table.cancel(t);
  m.table.reclaim_all();
  CHECK(claimed(m.table, 20, 1).empty());
}

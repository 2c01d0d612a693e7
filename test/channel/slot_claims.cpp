/// Request slots for whole warps: all of them or none, as long as they are patient.
#include "qp/seed_sweep.hpp"
#include "table_memory.hpp"
#include <gnstor/channel/exclusive_slots.hpp>
#include <gnstor/simt/lane.hpp>

#include <algorithm>
#include <set>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr detail::slot_patience fresh = detail::slot_patience::fresh();
constexpr detail::slot_patience refused_once{.waited_ns = 1, .most_ns = ~std::uint64_t{0}};
constexpr detail::slot_patience nearly_over{.waited_ns = 99, .before_ns = 98, .most_ns = 100};
constexpr detail::slot_patience long_over{.waited_ns = 102, .before_ns = 101, .most_ns = 100};

/// What a warp of `lanes` lanes gets that claims once.
std::vector<ticket> claimed(const device_table& table, std::uint32_t lanes,
                            detail::slot_patience patience = fresh) {
  std::vector<result<ticket>> got(lanes, status::make(status_code::would_block, reporter::channel));
  host::executor machine(host::options{});
  machine.spawn(1, lanes,
                [&](auto& lane) { got[lane.thread()] = table.claim(lane.warp(), patience); });
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
  table_in_memory m(slots);
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
        mine = m.table.claim(warp, round % 2 != 0 ? refused_once : fresh);
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
  table_in_memory m(128);
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
  CHECK(claimed(m.table, 32, refused_once).empty());
  CHECK(m.table.in_use() == 96);
  for (int k = 16; k < 32; ++k) m.table.cancel(warps[2][k]);
  CHECK(words_of(m.table, claimed(m.table, 32, refused_once)) == words_of(m.table, warps[2]));
}

TEST_CASE("a few lanes take slots where few are left, so that a whole warp still finds a word") {
  table_in_memory m(64);
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
  table_in_memory m(8);
  const auto all = claimed(m.table, 20);
  CHECK(all.size() == 8);
  CHECK(m.table.in_use() == 8);
  m.table.cancel(all.front());
  CHECK(claimed(m.table, 20, refused_once).empty());
}

TEST_CASE("lanes take what there is when their patience ends, and when nobody waits") {
  table_in_memory m(64);
  REQUIRE(claimed(m.table, 20).size() == 20);
  REQUIRE(claimed(m.table, 20).size() == 20);
  CHECK(claimed(m.table, 20, nearly_over).empty());
  const auto late = claimed(m.table, 20, long_over);
  CHECK(late.size() == 20);
  CHECK(words_of(m.table, late).size() == 2);
  CHECK(claimed(m.table, 20, detail::slot_patience{}).size() == 4);
}

TEST_CASE("patience that was in vain is shorter next time, until it is worth it again") {
  constexpr std::uint64_t most = device_table::most_patience_ns;
  table_in_memory m(64);
  const auto a = claimed(m.table, 20);
  const auto b = claimed(m.table, 20);
  const auto ends = [&](detail::slot_patience p) {
    const auto got = claimed(m.table, 20, p);
    for (const ticket t : got) m.table.cancel(t);
    return !got.empty();
  };
  CHECK(m.table.patience_ns() == most);
  CHECK_FALSE(ends({.waited_ns = most - 1, .before_ns = most - 2, .most_ns = most}));
  CHECK(m.table.patience_ns() == most);
  CHECK(ends({.waited_ns = most + 1, .before_ns = most - 1, .most_ns = most}));
  CHECK(m.table.patience_ns() == most / 2);
  // Who waits already goes on; who has lost patience before, or runs out of time, teaches nothing.
  CHECK_FALSE(ends({.waited_ns = most - 1, .before_ns = most - 2, .most_ns = most}));
  CHECK(ends({.waited_ns = most + 2, .before_ns = most + 1, .most_ns = most}));
  CHECK(ends({.waited_ns = 11, .before_ns = 9, .most_ns = 10, .by_deadline = true}));
  CHECK(m.table.patience_ns() == most / 2);
  for (int k = 0; k < 20; ++k)
    CHECK(ends({.waited_ns = most, .before_ns = 1, .most_ns = m.table.patience_ns()}));
  CHECK(m.table.patience_ns() == most / 128);
  for (const ticket t : a) m.table.cancel(t);
  CHECK(ends(refused_once));  // there is a word now
  CHECK(m.table.patience_ns() == most);
}

TEST_CASE("no deadline is spent on patience: a quarter of it at most") {
  const deadline d = deadline::after(1'000, 4'000);
  detail::slot_patience p = detail::slot_patience::fresh();
  p.begin(1'000, d, 2'000);
  CHECK((p.waited_ns != 0 && p.most_ns == 1'000 && p.by_deadline));
  p.go_on(999);
  CHECK((p.before_ns < p.most_ns && p.waited_ns >= p.most_ns));
  p.begin(1'000, d, 500);
  CHECK((p.most_ns == 500 && !p.by_deadline));
  p.begin(6'000, d, 500);
  CHECK(p.most_ns == 0);
}

TEST_CASE("lanes without company keep to the same words, and leave the others to whole warps") {
  table_in_memory m(128);
  host::executor machine(host::options{});
  machine.spawn(1, 128, [&](auto& lane) {
    if (lane.thread() % 32 == 0) CHECK(m.table.claim(simt::group::self(), fresh));
  });
  machine.run();
  CHECK(m.table.in_use() == 4);
  for (int k = 0; k < 3; ++k) CHECK(claimed(m.table, 32).size() == 32);
  CHECK(claimed(m.table, 32).empty());
}

TEST_CASE("where requests given up keep slots, lanes take what there is, until the late answers") {
  table_in_memory m(64);
  const auto a = claimed(m.table, 20);
  const auto b = claimed(m.table, 20);
  REQUIRE(m.table.abandon(a.front()));
  REQUIRE(m.table.abandon(b.front()));
  CHECK(claimed(m.table, 20, fresh).empty());  // at first they hope
  const auto torn = claimed(m.table, 20, refused_once);
  CHECK(torn.size() == 20);
  for (const ticket t : torn) m.table.cancel(t);
  CHECK(m.table.complete(a.front().id, {}, 0) == device_table::answer::late);
  const auto again = claimed(m.table, 20, refused_once);
  CHECK(again.size() == 20);
  for (const ticket t : again) m.table.cancel(t);
  m.table.reclaim_all();
  CHECK(claimed(m.table, 20, refused_once).empty());
}

TEST_CASE(
    "a request that a channel's owner gave up counts for shared use, and the other way round") {
  constexpr std::uint32_t depth = 64;
  std::vector<std::uint64_t> words((sizeof(channel_state) + device_table::bytes(depth)) / 8 + 32);
  auto* state = reinterpret_cast<channel_state*>(
      (reinterpret_cast<std::uintptr_t>(words.data()) + 127) / 128 * 128);
  const device_table table = detail::channel_layout(depth).requests_of(*state);
  const auto as_owner = [&](const auto& body) {
    host::executor machine(host::options{});
    machine.spawn(1, 1,
                  [&](auto& lane) { body(lane.warp(), detail::exclusive_slots(state, depth)); });
    machine.run();
  };
  // 24 of 32 slots of each word are taken: patient lanes wait.
  const auto a = claimed(table, 24);
  const auto b = claimed(table, 24);
  const auto patient = [&] {
    const auto got = claimed(table, 12, refused_once);
    for (const ticket t : got) table.cancel(t);
    return got.empty();
  };
  CHECK(patient());
  command_id id{};
  as_owner([&](const simt::group& g, const detail::exclusive_slots& own) {
    const std::uint32_t at = own.claim(g, true);
    own.expect(at, own.generation(at) + 1, 0);
    id = own.id_of(own.generation(at), at);
    own.abandon(g, at, true);
  });
  CHECK_FALSE(patient());
  CHECK(table.complete(id, {}, 0) == device_table::answer::late);
  CHECK(patient());
  REQUIRE(table.abandon(a.front()));
  CHECK_FALSE(patient());
  as_owner([&](const simt::group& g, const detail::exclusive_slots& own) {
    completion c;
    c.kind = completion_kind::response;
    c.response.command_id = a.front().id.value;
    own.count_others(g, a.front().id, own.settle(g, a.front().id, true, c), true, false);
  });
  CHECK(patient());
}

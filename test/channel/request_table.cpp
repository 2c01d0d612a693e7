/// The request table alone: claims, answers, duplicates and owners that give up, all at once.
#include "qp/seed_sweep.hpp"
#include "table_memory.hpp"
#include "table_race.hpp"

#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint32_t slots = 2;
constexpr std::uint32_t owner_lanes = 4;
constexpr std::uint32_t rounds = 3;
constexpr std::uint32_t requests = owner_lanes * rounds;

/// Owners and answerers on a table of two slots. Says what went wrong, or nothing.
std::string raced(host::options chosen) {
  const table_in_memory owned(slots);
  const small_table& table = owned.table;
  std::vector<std::uint64_t> sent(2 * requests);
  std::vector<std::uint64_t> payload(requests);
  std::vector<std::uint64_t> plain(requests);
  std::uint32_t sent_count = 0;
  std::uint32_t next = 0;
  std::uint32_t open = owner_lanes;
  table_record record;
  const table_memory memory{sent.data(), payload.data(), plain.data(), &sent_count,
                            &next,       &open,          &record};
  host::executor machine(chosen);
  machine.spawn(2, owner_lanes / 2,
                table_owner{table, memory, rounds, static_cast<std::uint32_t>(chosen.seed)});
  machine.spawn(1, 3, table_answerer{table, memory, 2 * requests});
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  if (record.stuck != 0) return "somebody waited for ever";
  if (record.wrong_answer != 0) return "a request got another one's answer, or none";
  if (record.wrong_payload != 0) return "an answer came before its data";
  if (record.delivered != record.taken) return "an answer was delivered and not taken";
  if (record.late != record.given_up) return "a late answer was not recognised";
  if (record.unknown != record.duplicates) return "a duplicate was not recognised";
  if (table.in_use() != 0) return "a slot was lost";
  return {};
}

}  // namespace

TEST_CASE("every slot can be claimed once, the next claim would block, and a free slot is found") {
  for (const std::uint32_t count : {2u, 8u, 32u, 64u, 128u, 1024u}) {
    CAPTURE(count);
    table_in_memory t(count);
    std::vector<ticket> mine;
    std::vector<bool> seen(count);
    for (std::uint32_t k = 0; k < count; ++k) {
      const result<ticket> got = t.table.claim();
      REQUIRE(got);
      REQUIRE_FALSE(seen[got.value.id.value % count]);
      seen[got.value.id.value % count] = true;
      mine.push_back(got.value);
    }
    CHECK(t.table.claim().status.code == status_code::would_block);
    CHECK(t.table.in_use() == count);
    t.table.cancel(mine[count / 2]);
    const result<ticket> again = t.table.claim();
    REQUIRE(again);
    CHECK(again.value.id.value % count == mine[count / 2].id.value % count);
    CHECK(again.value.id.value != mine[count / 2].id.value);
  }
}

TEST_CASE("an answer to an earlier use of a slot is unknown, whatever the slot does now") {
  table_in_memory t(2);
  const ticket old = t.table.claim().value;
  CHECK(t.table.complete(old.id, status{}, 1) == small_table::answer::delivered);
  CHECK(t.table.complete(old.id, status{}, 2) == small_table::answer::unknown);
  std::uint32_t value = 0;
  CHECK(t.table.take(old, &value).ok());
  CHECK(value == 1);
  CHECK(t.table.complete(old.id, status{}, 3) == small_table::answer::unknown);
  const ticket a = t.table.claim().value;
  const ticket b = t.table.claim().value;
  CHECK(t.table.complete(old.id, status{}, 4) == small_table::answer::unknown);
  CHECK_FALSE(t.table.recall(old.id));
  CHECK(t.table.take(a).code == status_code::would_block);
  CHECK(t.table.take(b).code == status_code::would_block);
}

TEST_CASE("a request given up keeps its slot until the late answer, and a second one is unknown") {
  table_in_memory t(2);
  const ticket mine = t.table.claim().value;
  REQUIRE(t.table.abandon(mine));
  CHECK(t.table.in_use() == 1);
  t.table.remember(mine, {.index = 77});
  CHECK(t.table.recall(mine.id).value.index == 77);
  CHECK(t.table.complete(mine.id, status{}, 1) == small_table::answer::late);
  CHECK(t.table.in_use() == 0);
  CHECK(t.table.complete(mine.id, status{}, 1) == small_table::answer::unknown);
  CHECK(t.table.in_use() == 0);
}

TEST_CASE("a reset frees the slots of requests given up, no others, and their ids go on") {
  table_in_memory t(4);
  const ticket given_up = t.table.claim().value;
  const ticket waited_for = t.table.claim().value;
  const ticket alone = t.table.claim().value;
  CHECK_FALSE(t.table.reclaim(alone));
  REQUIRE(t.table.abandon(given_up));
  REQUIRE(t.table.abandon(alone));
  CHECK(t.table.reclaim(alone));
  CHECK_FALSE(t.table.reclaim(alone));
  CHECK(t.table.in_use() == 2);
  t.table.reclaim_all();
  CHECK(t.table.in_use() == 1);
  CHECK(t.table.complete(given_up.id, status{}, 1) == small_table::answer::unknown);
  CHECK(t.table.take(waited_for).code == status_code::would_block);
  for (int k = 0; k < 3; ++k) {
    const ticket next = t.table.claim().value;
    CHECK(next.id.value != given_up.id.value);
    CHECK(next.id.value != alone.id.value);
  }
  CHECK_FALSE(t.table.claim());
}

TEST_CASE("ids repeat only after all generations of the slot") {
  table_in_memory t(1024);
  const ticket first = t.table.claim().value;
  t.table.cancel(first);
  for (std::uint32_t k = 1; k < 64; ++k) {
    const ticket next = t.table.claim().value;
    REQUIRE(next.id.value % 1024 == first.id.value % 1024);
    REQUIRE(next.id.value != first.id.value);
    t.table.cancel(next);
  }
  CHECK(t.table.claim().value.id.value == first.id.value);
}

TEST_CASE("owners and answerers race, fast") { CHECK(raced({}) == ""); }

TEST_CASE("owners and answerers race, seeded") { sweep(host::mode::seeded, 3000, raced); }

TEST_CASE("owners and answerers race, weak") { sweep(host::mode::weak, 1500, raced); }

/// The request table alone: claims, answers, duplicates and owners that give up, all at once.
#include "qp/seed_sweep.hpp"
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
  std::vector<std::uint64_t> table_words(small_table::bytes(slots) / 8 + 8);
  const auto base = reinterpret_cast<std::uintptr_t>(table_words.data());
  const small_table table(reinterpret_cast<void*>((base + 31) / 32 * 32), slots);
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

struct table_fixture {
  explicit table_fixture(std::uint32_t count)
      : words(small_table::bytes(count) / 8 + 8),
        ref(reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(words.data()) + 31) / 32 *
                                    32),
            count) {}
  std::vector<std::uint64_t> words;
  small_table ref;
};

}  // namespace

TEST_CASE("every slot can be claimed once, the next claim would block, and a free slot is found") {
  for (const std::uint32_t count : {2u, 8u, 32u, 64u, 128u, 1024u}) {
    CAPTURE(count);
    table_fixture t(count);
    std::vector<ticket> mine;
    std::vector<bool> seen(count);
    for (std::uint32_t k = 0; k < count; ++k) {
      const result<ticket> got = t.ref.claim();
      REQUIRE(got);
      REQUIRE_FALSE(seen[got.value.id.value % count]);
      seen[got.value.id.value % count] = true;
      mine.push_back(got.value);
    }
    CHECK(t.ref.claim().status.code == status_code::would_block);
    CHECK(t.ref.in_use() == count);
    t.ref.cancel(mine[count / 2]);
    const result<ticket> again = t.ref.claim();
    REQUIRE(again);
    CHECK(again.value.id.value % count == mine[count / 2].id.value % count);
    CHECK(again.value.id.value != mine[count / 2].id.value);
  }
}

TEST_CASE("an answer to an earlier use of a slot is unknown, whatever the slot does now") {
  table_fixture t(2);
  const ticket old = t.ref.claim().value;
  CHECK(t.ref.complete(old.id, status{}, 1) == small_table::answer::delivered);
  CHECK(t.ref.complete(old.id, status{}, 2) == small_table::answer::unknown);
  std::uint32_t value = 0;
  CHECK(t.ref.take(old, &value).ok());
  CHECK(value == 1);
  CHECK(t.ref.complete(old.id, status{}, 3) == small_table::answer::unknown);
  const ticket a = t.ref.claim().value;
  const ticket b = t.ref.claim().value;
  CHECK(t.ref.complete(old.id, status{}, 4) == small_table::answer::unknown);
  CHECK_FALSE(t.ref.recall(old.id));
  CHECK(t.ref.take(a).code == status_code::would_block);
  CHECK(t.ref.take(b).code == status_code::would_block);
}

TEST_CASE("a request given up keeps its slot until the late answer, and a second one is unknown") {
  table_fixture t(2);
  const ticket mine = t.ref.claim().value;
  REQUIRE(t.ref.abandon(mine));
  CHECK(t.ref.in_use() == 1);
  t.ref.remember(mine, {.index = 77});
  CHECK(t.ref.recall(mine.id).value.index == 77);
  CHECK(t.ref.complete(mine.id, status{}, 1) == small_table::answer::late);
  CHECK(t.ref.in_use() == 0);
  CHECK(t.ref.complete(mine.id, status{}, 1) == small_table::answer::unknown);
  CHECK(t.ref.in_use() == 0);
}

TEST_CASE("a reset frees the slots of requests given up, no others, and their ids go on") {
  table_fixture t(4);
  const ticket given_up = t.ref.claim().value;
  const ticket waited_for = t.ref.claim().value;
  const ticket alone = t.ref.claim().value;
  CHECK_FALSE(t.ref.reclaim(alone));
  REQUIRE(t.ref.abandon(given_up));
  REQUIRE(t.ref.abandon(alone));
  CHECK(t.ref.reclaim(alone));
  CHECK_FALSE(t.ref.reclaim(alone));
  CHECK(t.ref.in_use() == 2);
  t.ref.reclaim_all();
  CHECK(t.ref.in_use() == 1);
  CHECK(t.ref.complete(given_up.id, status{}, 1) == small_table::answer::unknown);
  CHECK(t.ref.take(waited_for).code == status_code::would_block);
  for (int k = 0; k < 3; ++k) {
    const ticket next = t.ref.claim().value;
    CHECK(next.id.value != given_up.id.value);
    CHECK(next.id.value != alone.id.value);
  }
  CHECK_FALSE(t.ref.claim());
}

TEST_CASE("ids repeat only after all generations of the slot") {
  table_fixture t(1024);
  const ticket first = t.ref.claim().value;
  t.ref.cancel(first);
  for (std::uint32_t k = 1; k < 64; ++k) {
    const ticket next = t.ref.claim().value;
    REQUIRE(next.id.value % 1024 == first.id.value % 1024);
    REQUIRE(next.id.value != first.id.value);
    t.ref.cancel(next);
  }
  CHECK(t.ref.claim().value.id.value == first.id.value);
}

TEST_CASE("owners and answerers race, fast") { CHECK(raced({}) == ""); }

TEST_CASE("owners and answerers race, seeded") { sweep(host::mode::seeded, 3000, raced); }

TEST_CASE("owners and answerers race, weak") { sweep(host::mode::weak, 1500, raced); }

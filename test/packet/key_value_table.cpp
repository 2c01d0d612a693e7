/// A table of keys and values that lanes share: each value whole, each count right.

#include "packet_rig.hpp"
#include <gnstor/packet/key_value_table.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using outcome = key_value_table::outcome;
using store_kind = key_value_table::store_kind;

/// A table in memory of this CPU.
struct owned_table {
  std::vector<std::uint64_t> words;
  key_value_table::control control{};
  key_value_table ref;

  explicit owned_table(const key_value_shape& shape, std::uint64_t patience_ns = 1'000'000'000)
      : words(shape.words()), ref(shape, words.data(), &control, 1, patience_ns) {}

  key_value_key key(const std::string& text) const {
    return {reinterpret_cast<const unsigned char*>(text.data()),
            static_cast<std::uint32_t>(text.size()), ref.seed()};
  }
  outcome store(const std::string& name, const std::string& value,
                store_kind how = store_kind::set) const {
    key_value_item item;
    item.value = reinterpret_cast<const unsigned char*>(value.data());
    item.bytes = static_cast<std::uint32_t>(value.size());
    return ref.store(key(name), item, how);
  }
  /// The value, or a word for what became of the request.
  std::string get(const std::string& name) const {
    std::string value(2000, '-');
    const outcome found = ref.get(key(name), [&](const key_value_item& item) {
      value.resize(item.bytes);
      return reinterpret_cast<unsigned char*>(value.data());
    });
    return found == outcome::done ? value : found == outcome::busy ? "(busy)" : "(none)";
  }
};

/// A value of which each byte says who stored it, and its length, too.
struct stamp {
  static constexpr std::uint32_t most = 96;
  static std::uint32_t length(std::uint32_t who) { return 40 + who * 7 % 57; }
  static void fill(unsigned char* value, std::uint32_t who) {
    std::memset(value, static_cast<int>(who), length(who));
  }
  /// Whether somebody stored this.
  static bool is_whole(const unsigned char* value, const key_value_item& item) {
    if (item.flags > 255 || item.bytes != length(item.flags)) return false;
    for (std::uint32_t k = 0; k < item.bytes; ++k)
      if (value[k] != item.flags) return false;
    return true;
  }
};

constexpr std::uint32_t lanes = 8;

/// Each lane stores its own stamps under few keys, and looks at what is there.
struct stampers {
  std::uint32_t rounds;
  std::uint32_t keys;
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, key_value_table table, std::uint64_t* torn) const {
    const std::uint32_t me = lane.global_thread();
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const std::uint32_t who = round * lanes + me;
      const unsigned char name = static_cast<unsigned char>('a' + (who * 5 + round) % keys);
      const key_value_key key(&name, 1, table.seed());
      unsigned char value[stamp::most];
      key_value_item found;
      if (me % 2 == 0) {
        stamp::fill(value, who);
        key_value_item item;
        item.value = value;
        item.bytes = stamp::length(who);
        item.flags = who;
        GNSTOR_VERIFY(table.store(key, item, store_kind::set) == outcome::done);
      }
      const outcome got = table.get(key, [&](const key_value_item& item) {
        found = item;
        return item.bytes <= stamp::most ? value : nullptr;
      });
      const bool is_sound =
          got == outcome::not_found || (got == outcome::done && stamp::is_whole(value, found));
      if (!is_sound) device_word<std::uint64_t>(*torn).fetch_add(1, relaxed);
    }
  }
};

std::string stamp_all(host::options chosen, std::uint32_t rounds, std::uint32_t keys) {
  owned_table table({1, stamp::most});
  std::uint64_t torn = 0;
  chosen.step_budget = 20'000'000;
  host::executor machine(chosen);
  machine.spawn(2, lanes / 2, stampers{rounds, keys}, table.ref, &torn);
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  if (torn != 0) return std::to_string(torn) + " values are not as they were stored";
  const key_value_counts& c = table.control.counts;
  if (c.cmd_get != rounds * lanes || c.get_hits + c.get_misses != c.cmd_get || c.busy != 0)
    return "gets do not add up";
  if (c.cmd_set != rounds * lanes / 2 || c.total_items != c.cmd_set) return "a store is missing";
  if (c.curr_items > 8 || c.evictions > c.total_items - c.curr_items) return "items do not add up";
  return table.control.unique == c.total_items ? "" : "a number was given twice";
}

/// Each lane counts up under one key, by `add` and by `cas`.
struct counting {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, key_value_table table, std::uint64_t* swapped) const {
    const unsigned char plain = 'p';
    const unsigned char swap = 's';
    const key_value_key key(&plain, 1, table.seed());
    const key_value_key other(&swap, 1, table.seed());
    for (std::uint32_t round = 0; round < 6; ++round) {
      std::uint64_t after = 0;
      GNSTOR_VERIFY(table.add(key, 1 + lane.global_thread(), false, after) == outcome::done);
      unsigned char value[8] = {};
      key_value_item item;
      GNSTOR_VERIFY(table.get(other, [&](const key_value_item& i) {
        item = i;
        return value;
      }) == outcome::done);
      ++value[0];
      item.value = value;
      if (table.store(other, item, store_kind::cas) == outcome::done)
        device_word<std::uint64_t>(*swapped).fetch_add(1, relaxed);
    }
  }
};

std::string count_all(host::options chosen) {
  owned_table table({1, 64});
  (void)table.store("p", "0");
  (void)table.store("s", std::string(1, '\0'));
  std::uint64_t swapped = 0;
  chosen.step_budget = 20'000'000;
  host::executor machine(chosen);
  machine.spawn(2, lanes / 2, counting{}, table.ref, &swapped);
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  if (table.get("p") != std::to_string(6 * 36)) return "the sum is " + table.get("p");
  const std::string last = table.get("s");
  if (swapped == 0 || static_cast<unsigned char>(last[0]) != swapped) return "a swap was lost";
  return {};
}

}  // namespace

TEST_CASE("fast: a value that lanes store and read at the same time is whole") {
  CHECK(stamp_all({}, under_tsan ? 8 : 30, 1) == "");
  CHECK(stamp_all({}, under_tsan ? 8 : 30, 20) == "");
}

TEST_CASE("seeded: a value that lanes store and read at the same time is whole") {
  sweep(host::mode::seeded, 60, [](host::options o) { return stamp_all(o, 4, 1 + o.seed % 2); });
  sweep(host::mode::seeded, 30, [](host::options o) { return stamp_all(o, 6, 16); });
}

TEST_CASE("weak: a value that lanes store and read at the same time is whole") {
  sweep(host::mode::weak, 60, [](host::options o) { return stamp_all(o, 4, 1 + o.seed % 2); });
  sweep(host::mode::weak, 30, [](host::options o) { return stamp_all(o, 6, 16); });
}

TEST_CASE("seeded and weak: lanes that count under one key lose nothing") {
  CHECK(count_all({}) == "");
  sweep(host::mode::seeded, 40, count_all);
  sweep(host::mode::weak, 40, count_all);
}

TEST_CASE("a bucket that is never given back costs an error, and no lane") {
  owned_table table({1, 64}, 100'000);
  REQUIRE(table.store("a", "1") == outcome::done);
  table.words[0] = 1;  // as if its owner had died
  std::uint64_t after = 0;
  CHECK(table.store("a", "2") == outcome::busy);
  CHECK(table.ref.remove(table.key("a")) == outcome::busy);
  CHECK(table.ref.touch(table.key("a"), 0) == outcome::busy);
  CHECK(table.ref.add(table.key("a"), 1, false, after) == outcome::busy);
  CHECK(table.get("a") == "1");
  table.words[2] += 1;  // an item that is written and never ready
  CHECK(table.get("a") == "(busy)");
  CHECK(table.get("b") == "(none)");
  CHECK(table.control.counts.busy == 5);
}

TEST_CASE("keys of one hash are two keys") {
  owned_table table({1, 64});
  // The second word makes up for what the first one changes.
  std::uint64_t one[2] = {0x6161616161616161, 0x6262626262626262};
  std::uint64_t two[2] = {0x6363636363636363, 0};
  const std::uint64_t begin = mix64(table.ref.seed() ^ 16);
  two[1] = mix64(begin + one[0]) + one[1] - mix64(begin + two[0]);
  const std::string a(reinterpret_cast<const char*>(one), 16);
  const std::string b(reinterpret_cast<const char*>(two), 16);
  REQUIRE(table.key(a).hash() == table.key(b).hash());
  CHECK(table.store(a, "first") == outcome::done);
  CHECK(table.get(b) == "(none)");
  CHECK(table.store(b, "second") == outcome::done);
  CHECK(table.get(a) == "first");
  CHECK(table.get(b) == "second");
  CHECK(table.ref.remove(table.key(a)) == outcome::done);
  CHECK(table.get(a) == "(none)");
  CHECK(table.get(b) == "second");
}

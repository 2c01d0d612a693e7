/// Longest prefixes, against a trie of bits.

#include <gnstor/host/error.hpp>
#include <gnstor/host/route_table.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

using namespace gnstor;

namespace {

/// A node for each bit of each prefix.
class bit_trie {
 public:
  static constexpr std::uint32_t none = 0;  ///< no gateway

  void add(const host::route& r) {
    std::size_t at = 0;
    for (int k = 0; k < r.length; ++k) {
      const std::size_t bit = r.prefix >> (31 - k) & 1;
      if (nodes_[at].next[bit] == 0) {
        const std::size_t made = nodes_.size();
        nodes_.emplace_back();
        nodes_[at].next[bit] = made;
      }
      at = nodes_[at].next[bit];
    }
    nodes_[at].gateway = r.gateway;
  }
  std::uint32_t find(std::uint32_t address) const {
    std::uint32_t best = nodes_[0].gateway;
    std::size_t at = 0;
    for (int k = 0; k < 32; ++k) {
      at = nodes_[at].next[address >> (31 - k) & 1];
      if (at == 0) break;
      if (nodes_[at].gateway != none) best = nodes_[at].gateway;
    }
    return best;
  }

 private:
  struct node {
    std::array<std::size_t, 2> next{};
    std::uint32_t gateway = none;
  };
  std::vector<node> nodes_ = std::vector<node>(1);
};

const host::nic& nic() {
  static const host::nic one("emu-nic:?frames=0");
  return one;
}

/// Where a table sends an address; 0: nowhere.
std::uint32_t gateway(const host::route_table& table, std::uint32_t address) {
  const std::uint16_t hop = table.ref().look_up(address);
  return hop == gnstor::route_table::no_route ? 0 : table.gateway(hop);
}

/// Addresses, half of them in or beside prefixes longer than /24.
std::vector<std::uint32_t> addresses(const host::route_list& routes, std::size_t count,
                                     std::mt19937_64& random) {
  std::vector<host::route> longer;
  for (const host::route& r : routes.all())
    if (r.length > 24) longer.push_back(r);
  std::vector<std::uint32_t> all;
  for (std::size_t k = 0; k < count; ++k) {
    auto address = static_cast<std::uint32_t>(random());
    if (k % 2 == 0 && !longer.empty()) {
      const host::route& r = longer[random() % longer.size()];
      const std::uint32_t size = ~host::route::mask(r.length) + 1;
      // From the prefix's length before it to as many behind it.
      address = r.prefix - size + static_cast<std::uint32_t>(random() % (3 * size));
    }
    all.push_back(address);
  }
  return all;
}

void compare(const host::route_list& routes, std::uint64_t seed) {
  CAPTURE(seed);
  const host::route_table table(nic(), routes);
  bit_trie trie;
  for (const host::route& r : routes.all()) trie.add(r);
  std::mt19937_64 random(seed);
  int wrong = 0;
  int found = 0;
  for (const std::uint32_t a : addresses(routes, 200'000, random)) {
    const std::uint32_t expected = trie.find(a);
    const host::route* const listed = routes.find(a);
    wrong += gateway(table, a) != expected || (listed == nullptr ? 0 : listed->gateway) != expected;
    found += expected != 0;
  }
  CHECK(wrong == 0);
  CHECK(found > 1000);
}

std::string thrown(const host::route_list& routes) {
  try {
    const host::route_table table(nic(), routes);
    return {};
  } catch (const host::input_error& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("a table of the Internet's size finds the longest prefix of every address") {
  const host::route_list routes = host::route_list::draw({});
  CHECK(routes.all().size() == 474'320);
  const auto longer =
      std::ranges::count_if(routes.all(), [](const host::route& r) { return r.length > 24; });
  CHECK(longer >= 474'319 / 50 - 1);
  CHECK(longer <= 474'319 / 50 + 20);
  compare(routes, 1);
}

TEST_CASE("drawn routes follow from their seed") {
  const auto draw = [](std::uint64_t seed) {
    std::string all;
    const host::route_list routes = host::route_list::draw({.count = 200, .seed = seed});
    for (const host::route& r : routes.all())
      all += r.text() + " " + std::to_string(r.gateway) + "\n";
    return all;
  };
  CHECK(draw(3) == draw(3));
  CHECK(draw(3) != draw(4));
}

TEST_CASE("tables of crowded prefixes find the longest one") {
  // A few networks with prefixes of all lengths, in any order, one in another and side by side.
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    std::mt19937_64 random(seed);
    host::route_list routes;
    for (int k = 0; k < 3000; ++k) {
      host::route r;
      r.length = static_cast<std::uint8_t>(k % 3 == 0 ? 25 + random() % 8 : random() % 25);
      r.prefix =
          static_cast<std::uint32_t>(random() % 4 << 30 | random() % 2 << 9 | random() % 512) &
          host::route::mask(r.length);
      r.gateway = 1 + static_cast<std::uint32_t>(random() % 1000);
      try {
        routes.add(r);
      } catch (const host::input_error&) {  // drawn before
      }
    }
    compare(routes, seed);
  }
}

TEST_CASE("without a default an address of no prefix has no route") {
  host::route_list routes;
  CHECK(gateway(host::route_table(nic(), routes), 0x0a000001) == 0);
  routes.add({.prefix = 0x0a000000, .length = 8, .gateway = 7});
  const host::route_table table(nic(), routes);
  CHECK(gateway(table, 0x0affffff) == 7);
  CHECK(gateway(table, 0x09ffffff) == 0);
  CHECK(gateway(table, 0x0b000000) == 0);
  next_hop hop;
  CHECK_FALSE(table.ref().find(0x0b000000, hop));
}

TEST_CASE("whatever the words of a table are, no other word is read and no other hop is said") {
  using view = gnstor::route_table;
  std::mt19937_64 random(11);
  std::vector<std::uint16_t> first(view::first_entries);
  for (std::uint16_t& w : first) w = static_cast<std::uint16_t>(random());
  // Behind the three groups that the table has is a hop that exists.
  std::vector<std::uint16_t> second(view::most_groups * std::size_t{view::group_entries}, 1);
  for (std::size_t k = 0; k < 3 * view::group_entries; ++k)
    second[k] = static_cast<std::uint16_t>(random());
  std::uint64_t hops[2] = {};
  const view table(first.data(), second.data(), 3, hops, 2);
  int beyond = 0;
  for (int k = 0; k < 1'000'000; ++k) {
    const auto address = static_cast<std::uint32_t>(random());
    const std::uint16_t word = first[address >> 8];
    const std::uint16_t hop = table.look_up(address);
    if (hop != view::no_route && hop >= 2) ++beyond;
    if (word >= view::is_group + 3 && hop != view::no_route) ++beyond;
  }
  CHECK(beyond == 0);
}

TEST_CASE("a next hop is reached while its neighbour is known") {
  host::route_list routes;
  routes.add({.prefix = 0x0a000000, .length = 8, .gateway = 0xc0000201});
  routes.add({.prefix = 0xc0000200, .length = 24, .what = host::route::kind::connected});
  host::neighbour_list neighbours;
  neighbours.add({0xc0000209, {{2, 0, 0, 0, 0, 9}}});
  host::route_table table(nic(), routes, neighbours);
  const auto state = [&table](std::uint32_t address) {
    next_hop hop;
    REQUIRE(table.ref().find(address, hop));
    return hop;
  };
  using kind = next_hop::state_kind;
  CHECK(state(0x0a000001).state == kind::unresolved);
  CHECK(state(0xc0000209).state == kind::reachable);  // on the wire itself
  CHECK(state(0xc0000209).hardware.byte[5] == 9);
  CHECK(state(0xc0000208).state == kind::unresolved);
  CHECK(table.set_neighbour({0xc0000201, {{2, 0, 0, 0, 0, 1}}}));
  CHECK(state(0x0a000001).state == kind::reachable);
  CHECK(state(0x0a000001).hardware.byte[5] == 1);
  CHECK(table.forget_neighbour(0xc0000201));
  CHECK(state(0x0a000001).state == kind::unresolved);
  CHECK_FALSE(table.set_neighbour({0xc0000277, {}}));
}

TEST_CASE("a table that cannot be says why") {
  host::route_list groups;
  for (std::uint32_t k = 0; k <= gnstor::route_table::most_groups; ++k)
    groups.add({.prefix = 0x0a000000 + (k << 8), .length = 25, .gateway = 1});
  CHECK(thrown(groups) ==
        "route_table: 10.128.0.0/25: prefixes longer than /24 lie in more than 32768 networks of "
        "/24: use fewer of them");
  host::route_list hops;
  for (std::uint32_t k = 0; k <= gnstor::route_table::most_hops; ++k)
    hops.add({.prefix = 0x0a000000 + (k << 8), .length = 24, .gateway = 1 + k});
  CHECK(thrown(hops).find("more than 32767 next hops: use fewer gateways") != std::string::npos);
}

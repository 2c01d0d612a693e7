/// Route tables and neighbours as users have them.

#include <gnstor/host/address_text.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/neighbour_list.hpp>
#include <gnstor/host/route_list.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>

using namespace gnstor;
using kind = host::route::kind;

namespace {

/// What is wrong with a table; nothing if nothing is.
std::string wrong(const std::string& text) {
  try {
    host::route_list::parse(text, "t");
    return {};
  } catch (const host::input_error& e) {
    return e.what();
  }
}
std::string wrong_neighbours(const std::string& text) {
  try {
    host::neighbour_list::parse(text, "n");
    return {};
  } catch (const host::input_error& e) {
    return e.what();
  }
}

bool says(const std::string& text, const char* what) {
  return text.find(what) != std::string::npos;
}

/// "10.0.0.0/8 via 192.0.2.1" of the route to an address.
std::string found(const host::route_list& routes, std::uint32_t address) {
  const host::route* const r = routes.find(address);
  if (r == nullptr) return "none";
  constexpr const char* names[] = {"via", "connected", "unreachable", "prohibited", "blackhole"};
  std::string text = r->text() + " " + names[static_cast<int>(r->what)];
  if (r->what == kind::via) text += " " + host::ipv4_text(r->gateway);
  return text;
}

}  // namespace

TEST_CASE("what ip route show prints is read as Linux means it") {
  const auto routes = host::route_list::parse(
      "default via 192.0.2.1 dev eth0 proto dhcp src 192.0.2.5 metric 100 \n"
      "default via 192.0.2.2 dev wlan0 proto dhcp metric 600 \n"
      "10.0.0.0/8 via 192.0.2.7 dev eth0 proto bird metric 32 onlink \n"
      "10.9.0.0/16 dev eth1 scope link dead \n"
      "10.9.8.7 via 192.0.2.8 dev eth0\r\n"
      "blackhole 10.1.0.0/16 proto static\n"
      "unreachable 10.2.0.0/16 metric 4278198272\n"
      "prohibit 10.3.0.0/16\n"
      "192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.5 metric 100",
      "t");
  CHECK(routes.all().size() == 7);
  CHECK(found(routes, 0x08080808) == "0.0.0.0/0 via 192.0.2.1");
  CHECK(found(routes, 0x0a090000) == "10.0.0.0/8 via 192.0.2.7");
  CHECK(found(routes, 0x0a090807) == "10.9.8.7/32 via 192.0.2.8");
  CHECK(found(routes, 0x0a010001) == "10.1.0.0/16 blackhole");
  CHECK(found(routes, 0x0a020001) == "10.2.0.0/16 unreachable");
  CHECK(found(routes, 0x0a030001) == "10.3.0.0/16 prohibited");
  CHECK(found(routes, 0xc0000200) == "192.0.2.0/24 connected");
}

TEST_CASE("prefixes with a next hop behind them are read, and comments and blank lines are not") {
  const auto routes = host::route_list::parse(
      "# my routes\n\n  10.0.0.0/8\t192.0.2.1  # one\n0.0.0.0/0 192.0.2.2\n"
      "10.0.0.128/25 192.0.2.3\n",
      "t");
  CHECK(routes.all().size() == 3);
  CHECK(found(routes, 0x0a000080) == "10.0.0.128/25 via 192.0.2.3");
  CHECK(found(routes, 0x0b000000) == "0.0.0.0/0 via 192.0.2.2");
  CHECK(found(host::route_list::parse("", "t"), 0x0b000000) == "none");
}

TEST_CASE("a line that says nonsense is named, with what to do about it") {
  CHECK(wrong("\n10.0.0.0/33 192.0.2.1").starts_with("t:2: '10.0.0.0/33': a prefix has a length"));
  CHECK(says(wrong("10.0.0/8 192.0.2.1"), "t:1: '10.0.0/8': expected a prefix"));
  CHECK(says(wrong("10.0.0.256/8 192.0.2.1"), "expected a prefix"));
  CHECK(says(wrong("10.0.0.1/8 192.0.2.1"), "use 10.0.0.0/8, or 10.0.0.1/32"));
  CHECK(says(wrong("10.0.0.0/8"), "no next hop: expected PREFIX GATEWAY"));
  CHECK(says(wrong("10.0.0.0/8 proto static"), "of several next hops one"));
  CHECK(says(wrong("10.0.0.0/8 192.0.2.1 x"), "'x': nothing follows a gateway"));
  CHECK(says(wrong("10.0.0.0/8 via"), "'via': expected its value"));
  CHECK(says(wrong("10.0.0.0/8 via inet6 fe80::1 dev eth0"), "'inet6': expected the IPv4"));
  CHECK(says(wrong("10.0.0.0/8 via 192.0.2.1 metric x"), "'x': a metric is a number"));
  CHECK(says(wrong("\tnexthop via 192.0.2.1 dev eth0 weight 1"), "several next hops"));
  CHECK(says(wrong("default nexthop via 192.0.2.1 nexthop via 192.0.2.2"), "several next hops"));
  CHECK(says(wrong("10.0.0.0/8 tos 0x10 via 192.0.2.1"), "by type of service"));
  CHECK(says(wrong("local 10.0.0.1 dev eth0"), "use 'ip route show table main'"));
  CHECK(says(wrong("2001:db8::/32 via fe80::1 dev eth0"), "use 'ip -4 route show'"));
  CHECK(says(wrong("blackhole"), "expected a prefix behind it"));
  CHECK(says(wrong(std::string(500, 'x')), "...': expected a prefix"));
}

TEST_CASE("of two routes of one prefix the lower metric counts, and equal ones are refused") {
  CHECK(wrong("10.0.0.0/8 192.0.2.1\n\n10.0.0.0/8 192.0.2.2\n") ==
        "t:3: 10.0.0.0/8: it has a route, of line 1, already: leave one out, or give them metrics, "
        "of which the lowest counts");
  const auto lower = host::route_list::parse(
      "10.0.0.0/8 via 192.0.2.1 metric 20\n10.0.0.0/8 via 192.0.2.2 metric 10\n"
      "10.0.0.0/8 via 192.0.2.3 metric 30\n",
      "t");
  CHECK(lower.all().size() == 1);
  CHECK(found(lower, 0x0a000001) == "10.0.0.0/8 via 192.0.2.2");
}

TEST_CASE("a table that is no file is named") {
  CHECK_THROWS_WITH_AS(host::route_list::read("/nowhere/routes"),
                       "/nowhere/routes: cannot be read: No such file or directory; use a text "
                       "file that exists",
                       host::input_error);
  CHECK_THROWS_WITH_AS(host::route_list::read("/"),
                       "/: cannot be read: Is a directory; use a text file that exists",
                       host::input_error);
  CHECK(host::route_list::read("/dev/null").all().empty());
}

TEST_CASE("whatever bytes a table has, it is read, or a line of it is named") {
  const std::string sound =
      "default via 192.0.2.1 dev eth0 metric 100\nblackhole 10.1.0.0/16\n192.0.2.0/24 dev eth0\n";
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    std::mt19937_64 random(seed);
    std::string text = sound;
    for (std::uint64_t n = 1 + random() % 4; n != 0; --n)
      text[random() % text.size()] = static_cast<char>(random() % 3 == 0 ? random() : ' ');
    text.resize(random() % 2 == 0 ? text.size() : random() % text.size());
    const std::string what = wrong(text);
    CAPTURE(seed);
    if (!what.empty()) CHECK(what.starts_with("t:"));
    refused += !what.empty();
  }
  CHECK(refused > 1000);
  CHECK(refused < 2900);
}

TEST_CASE("more prefixes than can be drawn are refused") {
  CHECK_THROWS_AS(host::route_list::draw({.count = 5'000'000}), host::input_error);
  CHECK_THROWS_AS(host::route_list::draw({.gateways = 0}), host::input_error);
  CHECK(host::route_list::draw({.count = 10, .long_permille = 1000, .has_default = false})
            .all()
            .size() == 10);
}

TEST_CASE("what ip neigh show prints is read, and stations that do not answer are left out") {
  const auto n = host::neighbour_list::parse(
      "192.0.2.1 dev eth0 lladdr 02:00:00:00:00:0A REACHABLE\n"
      "192.0.2.2 dev eth0  FAILED\n"
      "fe80::1 dev eth0 lladdr 02:00:00:00:00:0b router STALE\n"
      "192.0.2.3 02:00:00:00:00:0c # plain\n",
      "n");
  REQUIRE(n.all().size() == 2);
  CHECK(n.all()[0].address == 0xc0000201);
  CHECK(n.all()[0].hardware.byte[5] == 0x0a);
  CHECK(n.all()[1].hardware.byte[5] == 0x0c);
  CHECK(says(wrong_neighbours("x 02:00:00:00:00:01"), "n:1: 'x': expected an IPv4 address"));
  CHECK(says(wrong_neighbours("192.0.2.1 02:00:00:00:00"), "expected a hardware address"));
  CHECK(says(wrong_neighbours("192.0.2.1 02:00:00:00:00:0g"), "expected a hardware address"));
  CHECK(says(wrong_neighbours("192.0.2.1 dev eth0 lladdr"), "expected a hardware address"));
  CHECK(says(wrong_neighbours("192.0.2.1 a b"), "expected ADDRESS HARDWARE_ADDRESS"));
  CHECK(says(wrong_neighbours("192.0.2.1 01:00:5e:00:00:01"), "a group's hardware address"));
  CHECK(says(wrong_neighbours("192.0.2.1 02:00:00:00:00:01\n192.0.2.1 02:00:00:00:00:02"),
             "n:2: 192.0.2.1: it has another hardware address"));
}

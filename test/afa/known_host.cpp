/// The table of hosts, read by the firmware while hosts come and go.
#include "qp/seed_sweep.hpp"
#include <afa/known_host.hpp>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// Hosts come into one place one after another, each when the one before has left.
struct come_and_go {
  fw::known_host* place;
  std::uint32_t last;

  template <class Lane>
  void operator()(Lane&) const {
    for (std::uint32_t k = 1; k <= last; ++k) {
      device_word<std::uint64_t>(place->hostid[0]).store(k * 3ull, release);
      device_word<std::uint64_t>(place->hostid[1]).store(k * 5ull, release);
      device_word<std::uint64_t>(place->key).store(k * 7ull, release);
      device_word<std::uint32_t>(place->client).store(k, release);
      device_word<std::uint32_t>(place->controller).store(k + 1, release);
      device_word<std::uint32_t>(place->manager).store(k % 3, release);
      device_word<std::uint32_t>(place->admitted).store(k, release);
      device_word<std::uint32_t>(place->admitted).store(0, release);
    }
  }
};
/// Looks again and again who is there.
struct look {
  fw::known_host* place;
  std::uint32_t times;
  std::uint32_t* seen;
  std::uint32_t* mixed;

  template <class Lane>
  void operator()(Lane&) const {
    for (std::uint32_t k = 0; k < times; ++k) {
      fw::host_seen who;
      if (!place->read(who)) continue;
      const std::uint32_t n = who.client.value;
      const bool one = who.hostid[0] == n * 3ull && who.hostid[1] == n * 5ull &&
                       who.key == n * 7ull && who.controller == n + 1 && who.manager == n % 3;
      device_word<std::uint32_t>(one && n != 0 ? *seen : *mixed).fetch_add(1, relaxed);
    }
  }
};

std::string looked(host::options o, std::uint32_t& seen) {
  fw::known_host place;
  std::uint32_t mixed = 0;
  host::executor machine(o);
  machine.spawn(1, 1, come_and_go{&place, 12});
  machine.spawn(2, 2, look{&place, 24, &seen, &mixed});
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  return mixed == 0 ? "" : "a host was seen with words of another";
}

}  // namespace

TEST_CASE("who is in a place is seen as a whole, or not at all") {
  std::uint32_t seen = 0;
  SUBCASE("fast") { CHECK(looked({}, seen) == ""); }
  SUBCASE("seeded") {
    sweep(host::mode::seeded, 200, [&](host::options o) { return looked(o, seen); });
    CHECK(seen != 0);
  }
  SUBCASE("weak") {
    sweep(host::mode::weak, 200, [&](host::options o) { return looked(o, seen); });
    CHECK(seen != 0);
  }
}

/// The NIC's table of memory regions while the host changes it.
#include "qp/seed_sweep.hpp"
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/lane.hpp>
#include <hca/memory_region.hpp>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint32_t owners = 6;

/// The region that the `n`-th owner of the entry has: none fits another's address.
fw::memory_region region_of(std::uint32_t n) {
  const auto place = std::uint64_t{n} << 32;
  return {place, 4096 * std::uint64_t{n}, fw::remote_read, n, n, 0};
}

/// Lane 0 gives one entry to one owner after another; the others look it up meanwhile.
struct changing_entry {
  struct shared {};
  fw::region_table table;
  std::uint32_t* ended;
  std::uint32_t* found;
  std::uint32_t* mixed;

  template <class Lane>
  void operator()(Lane& lane) const {
    const device_word<std::uint32_t> over(*ended);
    if (lane.thread() == 0) {
      for (std::uint32_t n = 1; n <= owners; ++n) {
        table.open(0, region_of(n));
        for (bounded rounds{n}; rounds;) lane.pause();
        table.close(0);
      }
      return over.store(1, relaxed);
    }
    for (bounded rounds{100'000}; rounds && over.load(relaxed) == 0;) {
      for (std::uint32_t n = 1; n <= owners; ++n) look_for(n);
      lane.pause();
    }
  }

  void look_for(std::uint32_t n) const {
    const fw::memory_region r = table.find(n);
    if (r.key == 0) return;
    device_word<std::uint32_t>(*found).fetch_add(1, relaxed);
    const fw::memory_region right = region_of(n);
    if (r.base != right.base || r.bytes != right.bytes || r.domain != right.domain)
      device_word<std::uint32_t>(*mixed).fetch_add(1, relaxed);
  }
};

void change(host::mode mode) {
  std::uint32_t found = 0;
  sweep(mode, 200, [&](const host::options& o) {
    fw::memory_region entry{};
    std::uint32_t ended = 0;
    std::uint32_t mixed = 0;
    host::executor machine(o);
    machine.spawn(1, 3, changing_entry{fw::region_table(&entry, 1), &ended, &found, &mixed});
    std::string fault = run_to_end(machine);
    if (mixed != 0) fault += "a key opened a part of another region";
    return fault;
  });
  CHECK(found != 0);
}

}  // namespace

TEST_CASE("a key that is looked up while its entry changes hands opens its own region, fast") {
  change(host::mode::fast);
}

TEST_CASE("a key that is looked up while its entry changes hands opens its own region, seeded") {
  change(host::mode::seeded);
}

TEST_CASE("a key that is looked up while its entry changes hands opens its own region, weak") {
  change(host::mode::weak);
}

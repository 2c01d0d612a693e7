/// Addresses of functions, and of memory for them.
#include <gnstor/pcie/address_pool.hpp>
#include <gnstor/pcie/pci_address.hpp>

#include <doctest/doctest.h>

#include <random>
#include <vector>

using namespace gnstor::host::pcie;

TEST_CASE("an address is read as the kernel writes it, and nothing else") {
  CHECK(pci_address::parse("0000:01:00.0") == pci_address{0, 1, 0, 0});
  CHECK(pci_address::parse("10ab:fe:1f.7") == pci_address{0x10ab, 0xfe, 0x1f, 7});
  CHECK(pci_address::parse("3b:00.1")->text() == "0000:3b:00.1");
  for (const char* wrong :
       {"", "01", "01:00", "0000:01:00", "0000:01:00.8", "0000:01:20.0", "0000:100:00.0",
        "0000:01:00.0 ", " 0000:01:00.0", "0000:01:00.0.0", "x:01:00.0", "0000::00.0", ":01:00.0",
        "0000:01:00.", "1:2:3:4.0", "-1:01:00.0", "0x0:01:00.0"}) {
    CAPTURE(wrong);
    CHECK_FALSE(pci_address::parse(wrong).has_value());
  }
}

TEST_CASE("pieces of an address range are handed out once, and come back whole") {
  address_pool pool;
  pool.give(0x1000, 0xf000);
  pool.give(0x100000, 0x100000);
  struct piece {
    std::uint64_t at, bytes;
  };
  std::vector<piece> held;
  std::mt19937 random(1);
  for (int step = 0; step < 20'000; ++step) {
    if (held.empty() || random() % 2 == 0) {
      const std::uint64_t bytes = (1 + random() % 16) * address_pool::page_bytes;
      const auto at = pool.take(bytes);
      if (!at) continue;
      REQUIRE(*at % address_pool::page_bytes == 0);
      const bool low = *at >= 0x1000 && *at + bytes <= 0x10000;
      const bool high = *at >= 0x100000 && *at + bytes <= 0x200000;
      REQUIRE((low || high));
      for (const piece& p : held) REQUIRE((p.at + p.bytes <= *at || *at + bytes <= p.at));
      held.push_back({*at, bytes});
    } else {
      const std::size_t k = random() % held.size();
      pool.give(held[k].at, held[k].bytes);
      held[k] = held.back();
      held.pop_back();
    }
  }
  for (const piece& p : held) pool.give(p.at, p.bytes);
  CHECK(pool.take(0x100000) == 0x100000);
  CHECK(pool.take(0xf000) == 0x1000);
  CHECK_FALSE(pool.take(address_pool::page_bytes).has_value());
}

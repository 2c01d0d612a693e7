/// Which parts of a read may leave, while they come in any order.
#include <gnstor/core/hash.hpp>
#include <serve/rdma/parted_read.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <utility>
#include <vector>

using gnstor::mix64;
using gnstor::serve::parted_read;

TEST_CASE("parts of a read leave in a row, each once, and none before it has come") {
  for (const std::uint32_t bytes : {65536u + 4096, 131072u, 262144u - 4096, 1u << 20}) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      CAPTURE(bytes);
      CAPTURE(seed);
      parted_read read;
      read.begin(bytes);
      const std::uint32_t count = parted_read::parts_of(bytes);
      std::vector<std::uint32_t> order(count);
      std::iota(order.begin(), order.end(), 0);
      for (std::uint32_t k = count - 1; k > 0; --k)
        std::swap(order[k], order[mix64(seed * 100 + k) % (k + 1)]);
      std::vector<bool> there(count, false);
      CHECK(read.ready() == 0);
      for (const std::uint32_t part : order) {
        read.arrived(part);
        there[part] = true;
        const std::uint32_t ready = read.ready();
        // Exactly those in a row that have come.
        std::uint32_t in_row = 0;
        std::uint32_t p = read.sent() / parted_read::part_bytes;
        for (; p < count && there[p]; ++p) in_row += read.bytes_of(p);
        REQUIRE(ready == in_row);
        if (mix64(seed + part) % 2 == 0) read.send(ready);
      }
      read.send(read.ready());
      CHECK(read.sent() == bytes);
      CHECK(read.ready() == 0);
    }
  }
}

/// Staging memory of a connection, some of which never comes back.
#include <serve/stage_map.hpp>

#include <doctest/doctest.h>

#include <vector>

using gnstor::serve::stage_map;
using gnstor::serve::stage_range;

TEST_CASE("what is lost is never given again, and the map says what still fits") {
  stage_map map(64);
  CHECK(map.can_hold(64));
  std::vector<stage_range> all;
  for (int k = 0; k < 16; ++k) all.push_back(map.take(4).value());
  CHECK_FALSE(map.take(1));
  map.lose(all[3]);
  map.lose(all[9]);
  CHECK(map.lost() == 8);
  for (int k = 0; k < 16; ++k) {
    if (k != 3 && k != 9) map.give(all[static_cast<std::size_t>(k)]);
  }
  CHECK(map.can_hold(24));  // behind the later one
  CHECK_FALSE(map.can_hold(25));
  CHECK(map.take(24).value().first == 40);
  CHECK(map.take(20).value().first == 16);
  CHECK(map.take(12).value().first == 0);
  CHECK_FALSE(map.take(1));
}

TEST_CASE("single blocks that are lost leave no room for a run, though much is free") {
  stage_map map(64);
  std::vector<stage_range> all;
  for (int k = 0; k < 64; ++k) all.push_back(map.take(1).value());
  for (std::size_t k = 0; k < 64; ++k) {
    if (k % 16 == 15) {
      map.lose(all[k]);
    } else {
      map.give(all[k]);
    }
  }
  CHECK(map.lost() == 4);
  CHECK(map.can_hold(15));
  CHECK_FALSE(map.can_hold(16));
  CHECK(map.take(15).has_value());
  CHECK_FALSE(map.take(16));
}

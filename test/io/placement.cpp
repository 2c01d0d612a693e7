/// Where stripes go. Both ends compute it, so its answers are part of the wire contract.
#include <gnstor/io/placement.hpp>
#include <gnstor/io/volume_info.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace gnstor;

namespace {

constexpr volume_id vid{7};
constexpr std::uint64_t factor = 0x1234;
constexpr std::uint32_t stripes = 20000;

}  // namespace

TEST_CASE("the replicas of a stripe are distinct SSDs that exist") {
  for (std::uint32_t n = 1; n <= max_ssds; n += 7) {
    const rendezvous_placement p(n);
    for (std::uint32_t r = 1; r <= max_replicas; ++r) {
      for (std::uint32_t s = 0; s < 200; ++s) {
        const replica_set set = p.replicas(vid, factor, s, r);
        REQUIRE(set.count == (r < n ? r : n));
        for (std::uint32_t k = 0; k < set.count; ++k) {
          REQUIRE(set.ssd[k].value < n);
          for (std::uint32_t j = 0; j < k; ++j) REQUIRE(!(set.ssd[j] == set.ssd[k]));
        }
      }
    }
  }
}

TEST_CASE("more replicas extend the set: the first ones do not depend on how many are asked for") {
  const rendezvous_placement p(9);
  for (std::uint32_t s = 0; s < 500; ++s) {
    const replica_set all = p.replicas(vid, factor, s, max_replicas);
    for (std::uint32_t r = 1; r < max_replicas; ++r) {
      const replica_set some = p.replicas(vid, factor, s, r);
      for (std::uint32_t k = 0; k < r; ++k) REQUIRE(some.ssd[k] == all.ssd[k]);
    }
  }
}

TEST_CASE("stripes and first replicas are spread evenly, within three percent") {
  for (const std::uint32_t n : {2u, 3u, 4u, 7u, 16u}) {
    const rendezvous_placement p(n);
    std::vector<double> first(n);
    std::vector<double> any(n);
    const std::uint32_t count = 10000 * n;
    for (std::uint32_t s = 0; s < count; ++s) {
      const replica_set set = p.replicas(vid, factor, s, 2);
      ++first[set.ssd[0].value];
      ++any[set.ssd[0].value];
      ++any[set.ssd[1].value];
    }
    for (std::uint32_t k = 0; k < n; ++k) {
      CAPTURE(n);
      CHECK(first[k] / count * n == doctest::Approx(1).epsilon(0.03));
      CHECK(any[k] / count / 2 * n == doctest::Approx(1).epsilon(0.03));
    }
  }
}

TEST_CASE("an SSD that joins takes its share from the others, and nothing else moves") {
  for (const std::uint32_t n : {3u, 4u, 8u}) {
    const rendezvous_placement before(n);
    const rendezvous_placement after(n + 1);
    std::uint32_t moved = 0;
    for (std::uint32_t s = 0; s < stripes; ++s) {
      const replica_set old = before.replicas(vid, factor, s, 2);
      const replica_set now = after.replicas(vid, factor, s, 2);
      for (std::uint32_t k = 0; k < 2; ++k) {
        if (old.contains(now.ssd[k])) continue;
        ++moved;
        REQUIRE(now.ssd[k].value == n);
      }
    }
    CHECK(moved / (2.0 * stripes) * (n + 1) == doctest::Approx(1).epsilon(0.05));
  }
}

TEST_CASE("volumes and hash factors are placed independently") {
  const rendezvous_placement p(8);
  std::uint32_t by_vid = 0;
  std::uint32_t by_factor = 0;
  for (std::uint32_t s = 0; s < stripes; ++s) {
    const replica_set a = p.replicas(vid, factor, s, 1);
    by_vid += p.replicas(volume_id(8), factor, s, 1).ssd[0] == a.ssd[0] ? 1u : 0u;
    by_factor += p.replicas(vid, factor + 1, s, 1).ssd[0] == a.ssd[0] ? 1u : 0u;
  }
  CHECK(by_vid / double(stripes) == doctest::Approx(0.125).epsilon(0.1));
  CHECK(by_factor / double(stripes) == doctest::Approx(0.125).epsilon(0.1));
}

TEST_CASE("the placement is what it was: an SSD of an older build finds the same stripes") {
  const rendezvous_placement p(4);
  std::uint64_t digest = 0;
  for (std::uint32_t s = 0; s < 1000; ++s) {
    const replica_set set = p.replicas(vid, factor, s, 3);
    for (std::uint32_t k = 0; k < 3; ++k) digest = mix64(digest + set.ssd[k].value + 1);
  }
  CHECK(digest == 4358774700538819158u);
}

TEST_CASE("a volume knows of its own SSDs only who is absent or filled") {
  volume_info v;
  v.ssd_count = 3;
  v.set_membership(0b101010, 0b010001, {});
  CHECK(v.absent == 0b010);
  CHECK(v.filling == 0b001);
  v.ssd_count = 64;
  v.set_membership(~std::uint64_t{0} << 63, 1, {});
  CHECK(v.absent == std::uint64_t{1} << 63);
}

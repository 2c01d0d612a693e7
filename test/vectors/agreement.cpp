/// Placement, shards and CRCs are what docs/placement.md says, as another implementation in Python
/// has computed it.

#include <deengine/metadata.hpp>
#include <deengine/page_crc.hpp>
#include <gnstor/io/placement.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace gnstor;

namespace {

constexpr const char* recorded =
#include "recorded.inc"
    ;

void check_placement(std::istream& in) {
  std::uint32_t vid = 0;
  std::uint64_t factor = 0;
  std::uint32_t stripe = 0;
  std::uint32_t ssds = 0;
  std::uint32_t wanted = 0;
  std::string is;
  REQUIRE((in >> vid >> factor >> stripe >> ssds >> wanted >> is));
  std::vector<std::uint32_t> expected;
  for (std::uint32_t ssd = 0; in >> ssd;) expected.push_back(ssd);
  const rendezvous_placement placement(ssds);
  const volume_id volume(static_cast<std::uint16_t>(vid));
  const replica_set found = placement.replicas(volume, factor, stripe, wanted);
  REQUIRE(found.count == expected.size());
  for (std::uint32_t k = 0; k < found.count; ++k) REQUIRE(found.ssd[k].value == expected[k]);
  for (std::uint32_t s = 0; s < ssds; ++s) {
    const ssd_index ssd(static_cast<std::uint16_t>(s));
    const bool holds = std::find(expected.begin(), expected.end(), s) != expected.end();
    REQUIRE(placement.holds(volume, factor, stripe, wanted, ssd) == holds);
  }
}
void check_shard(std::istream& in) {
  std::uint32_t vid = 0;
  std::uint32_t stripe = 0;
  std::uint32_t shards = 0;
  std::uint32_t expected = 0;
  std::string is;
  REQUIRE((in >> vid >> stripe >> shards >> is >> expected));
  REQUIRE(fw::shard_of(volume_id(static_cast<std::uint16_t>(vid)), stripe, shards) == expected);
}
void check_crc(std::istream& in) {
  std::string hex;
  std::string is;
  std::uint32_t expected = 0;
  REQUIRE((in >> hex >> is >> expected));
  std::vector<unsigned char> bytes(hex.size() / 2);
  for (std::size_t k = 0; k < bytes.size(); ++k)
    bytes[k] = static_cast<unsigned char>(std::stoul(hex.substr(2 * k, 2), nullptr, 16));
  REQUIRE(fw::crc32c(bytes.data(), static_cast<std::uint32_t>(bytes.size())) == expected);
}
void check_page(std::istream& in) {
  std::uint64_t seed = 0;
  std::string is;
  std::uint32_t expected = 0;
  REQUIRE((in >> seed >> is >> expected));
  alignas(64) unsigned char page[block_bytes];
  for (unsigned char& byte : page) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<unsigned char>(seed >> 56);
  }
  REQUIRE(fw::crc32c(page, block_bytes) == expected);
  REQUIRE(gnstor::detail::page_crc_here(page) == expected);
}

/// How many lines of each kind there were; all agree.
std::map<std::string, std::uint32_t> check_all(std::istream& in) {
  std::map<std::string, std::uint32_t> seen;
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    CAPTURE(line);
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    ++seen[kind];
    if (kind == "place") {
      check_placement(words);
    } else if (kind == "shard") {
      check_shard(words);
    } else if (kind == "crc") {
      check_crc(words);
    } else {
      REQUIRE(kind == "page");
      check_page(words);
    }
  }
  return seen;
}

}  // namespace

TEST_CASE("placement, shards and CRCs are those of another implementation") {
  std::istringstream in(recorded);
  auto seen = check_all(in);
  CHECK(seen["place"] == 120);
  CHECK(seen["shard"] == 120);
  CHECK(seen["crc"] == 12);
  CHECK(seen["page"] == 6);
}

TEST_CASE("they are so for vectors that were made just now") {
  const char* path = std::getenv("GNSTOR_VECTORS");
  if (path == nullptr) return;  // CTest's vectors.new sets it
  std::ifstream in(path);
  REQUIRE(in);
  auto seen = check_all(in);
  CHECK(seen["place"] == 1000);
  CHECK(seen["page"] == 6);
}

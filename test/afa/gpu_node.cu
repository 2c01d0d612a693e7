/// The array node as a GPU kernel, driven by this CPU alone: one kernel on the device, so that
/// compute-sanitizer can watch all of the firmware.
#include <gnstor/core/hash.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/session.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace host = gnstor::host;

namespace {

constexpr std::uint64_t volume_bytes = 2 << 20;

std::vector<std::uint64_t> pattern(std::uint64_t seed) {
  std::vector<std::uint64_t> words(volume_bytes / 8);
  for (std::uint64_t k = 0; k < words.size(); ++k) words[k] = gnstor::mix64(seed + k);
  return words;
}

host::session open_node(const char* endpoint) {
  return host::session(endpoint, {.client = host::machine::cpu, .channels = 0});
}

}  // namespace

TEST_CASE("the array node on a GPU keeps what this CPU writes, through overwrites and deletion") {
  host::session s = open_node("emu:?runner=gpu&capacity=16M&ssds=3&shards=2");
  const gnstor::volume_info a = s.create_volume({.bytes = volume_bytes});
  const gnstor::volume_info b = s.create_volume({.bytes = volume_bytes, .replicas = 3});
  for (std::uint64_t round = 0; round < 2; ++round) {
    const auto one = pattern(round);
    const auto two = pattern(100 + round);
    s.write(a, 0, one.data(), volume_bytes);
    s.write(b, 0, two.data(), volume_bytes);
    std::vector<std::uint64_t> back(one.size());
    s.read(a, 0, back.data(), volume_bytes);
    CHECK(back == one);
    s.read(b, 0, back.data(), volume_bytes);
    CHECK(back == two);
  }
  s.delete_volume(a.vid);
  const gnstor::volume_info c = s.create_volume({.bytes = volume_bytes});
  CHECK(c.vid == a.vid);
  std::vector<std::uint64_t> back(volume_bytes / 8, 1);
  s.read(c, 0, back.data(), volume_bytes);
  CHECK(back == std::vector<std::uint64_t>(volume_bytes / 8, 0));
}

TEST_CASE("a GPU node answers a forged block address with its own status") {
  host::session s = open_node("emu:?runner=gpu&capacity=16M&ssds=2&shards=2");
  gnstor::volume_info v = s.create_volume({.bytes = 4096});
  v.capacity_blocks = 1000;
  std::vector<char> block(4096);
  gnstor::status seen;
  try {
    s.read(v, 4096 * 99, block.data(), block.size());
  } catch (const host::io_error& e) {
    seen = e.outcome();
  }
  CHECK(seen.code == gnstor::status_code::nvme_error);
  CHECK(seen.nvme_type == 7);
  CHECK(seen.nvme_code == 4);
}

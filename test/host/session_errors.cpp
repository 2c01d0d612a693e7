/// What a session refuses, and how it says so.
#include "temp_folder.hpp"
#include <gnstor/host/array.hpp>
#include <gnstor/host/session.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

constexpr const char* small = "emu:?capacity=16M";

/// The message of the `host::error` that `work` ends with; empty if it succeeds.
template <class Work>
std::string refusal(Work work) {
  try {
    work();
  } catch (const host::error& e) {
    return e.what();
  }
  return {};
}

bool says(const std::string& message, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    if (message.find(word) == std::string::npos) return false;
  }
  return !message.empty();
}

std::string open_with(const char* endpoint, host::session_options options) {
  return refusal([&] { host::session s(endpoint, options); });
}

}  // namespace

TEST_CASE("a channel depth or count that cannot be is refused with the range") {
  for (const std::uint32_t depth : {0u, 1u, 3u, 100u, 2048u}) {
    CAPTURE(depth);
    CHECK(says(open_with(small, {.depth = depth}), {"depth", "power of two", "2 to 1024"}));
  }
  CHECK(says(open_with(small, {.channels = 129}), {"129 channels", "to 128"}));
  CHECK(says(open_with("emu:?capacity=16M&runner=cpu&timing=table2", {.channels = 63}),
             {"63 channels with timing=", "use 62 or fewer"}));
  CHECK(open_with(small, {.channels = 64, .depth = 2}).empty());
  CHECK(open_with(small, {.channels = 1, .depth = 1024}).empty());
}

TEST_CASE("a session without channels moves the host's bytes, and has none for kernels") {
  host::session s(small, {.channels = 0});
  const volume_info v = s.create_volume({.bytes = 4096});
  std::vector<unsigned char> bytes(4096, 3);
  s.write(v, 0, bytes.data(), bytes.size());
  CHECK(says(refusal([&] { (void)s.ref(v); }), {"no channels"}));
}

TEST_CASE("a runner that does not fit where kernels run is refused with one that does") {
  CHECK(says(open_with("emu:?runner=gpu&capacity=16M", {}), {"GPU"}));
  CHECK(says(open_with("emu:?media=hbm", {}), {"media=hbm", "runner=gpu"}));
}

TEST_CASE("an SSD too small for its shards is refused with a capacity that is enough") {
  CHECK(says(open_with("emu:?capacity=64K", {}), {"capacity=65536", "capacity=1M or more"}));
  const char* const many = "emu:?capacity=1M&shards=8";
  CHECK(says(open_with(many, {}), {"8 shards", "capacity=8M or more", "fewer shards="}));
  CHECK(open_with("emu:?capacity=1M", {}).empty());
  CHECK(open_with("emu:?capacity=8M&shards=8", {}).empty());
}

TEST_CASE("a volume that cannot be is refused before anything is created") {
  host::session s(small);
  const auto refused = [&](host::volume_options v) {
    return refusal([&] { (void)s.create_volume(v); });
  };
  CHECK(says(refused({.bytes = 0}), {"0 bytes"}));
  CHECK(says(refused({.bytes = std::uint64_t{1} << 30}), {"volume of 1073741824", "capacity="}));
  CHECK(says(refused({.bytes = ~std::uint64_t{0}}), {"volume of"}));
  CHECK(says(refused({.bytes = 4096, .replicas = 5}), {"5 replicas", "4 SSDs", "ssds=5"}));
  CHECK(says(refused({.bytes = 4096, .replicas = 9}), {"9 replicas", "1 to 8"}));
  CHECK(says(refused({.bytes = 4096, .stripe_blocks = 0}), {"stripes of 0 blocks"}));
  CHECK(says(refused({.bytes = 4096, .stripe_blocks = 257}), {"257", "256"}));
  CHECK(s.volumes().empty());
  CHECK(refused({.bytes = 1}).empty());
  CHECK(s.volumes().size() == 1);
  CHECK(s.volumes()[0].capacity_blocks == 1);
}

TEST_CASE("an array that cannot be is refused with what it needs") {
  host::session s(small);
  const volume_info v = s.create_volume({.bytes = 4 << 20});
  const auto refused = [&](std::uint64_t count, host::array_options o) {
    return refusal([&] { host::array<double> a(s, v, count, o); });
  };
  CHECK(says(refused((4 << 20) / 8 + 1, {}), {"volume 1", "4194304", "at least 4259840"}));
  CHECK(says(refused(std::uint64_t{1} << 61, {}), {"no volume is that large"}));
  CHECK(says(refused((std::uint64_t{1} << 61) + 1, {}), {"no volume is that large"}));
  CHECK(says(refused(0, {}), {"array of 0 bytes"}));
  for (const std::uint32_t page : {8u, 2048u, 4095u, 12288u, 4u << 20}) {
    CAPTURE(page);
    CHECK(says(refused(1000, {.page_bytes = page}), {"page of", "4096 times a power of two"}));
  }
  CHECK(says(refused((4 << 20) / 8, {.frame_bytes = 31 * 65536}),
             {"31 pages", "at least 2097152 bytes", "32 pages"}));
  CHECK(refused((4 << 20) / 8, {.frame_bytes = 32 * 65536}).empty());
  // An array of few pages needs as many frames as pages.
  CHECK(refused(1, {.frame_bytes = 65536}).empty());
  CHECK(refused(1, {}).empty());
}

TEST_CASE("a read or write that is not of whole blocks, or past the end, moves nothing") {
  host::session s(small);
  const volume_info v = s.create_volume({.bytes = 2 << 20});
  std::vector<unsigned char> bytes(4 << 20, 1);
  const auto write = [&](std::uint64_t offset, std::uint64_t count) {
    return refusal([&] { s.write(v, offset, bytes.data(), count); });
  };
  const auto read = [&](std::uint64_t offset, std::uint64_t count) {
    return refusal([&] { s.read(v, offset, bytes.data(), count); });
  };
  CHECK(says(write(1, 4096), {"offset 1", "multiples of 4096"}));
  CHECK(says(write(0, 100), {"100 bytes", "multiples of 4096"}));
  CHECK(says(write(4096, 2 << 20), {"ends at byte 2097152"}));
  CHECK(says(write(0, 4 << 20), {"4194304 bytes", "ends at byte 2097152"}));
  CHECK(says(read(std::uint64_t{1} << 44, 4096), {"ends at byte"}));
  CHECK(says(read(~std::uint64_t{4095}, 8192), {"ends at byte"}));
  s.read(v, 0, bytes.data(), 2 << 20);
  for (std::uint32_t k = 0; k < 2u << 20; k += 4096) REQUIRE(bytes[k] == 0);
  CHECK(write(2 << 20, 0).empty());
}

TEST_CASE("a volume that does not exist cannot be opened or deleted") {
  host::session s(small);
  CHECK(says(refusal([&] { (void)s.open_volume(volume_id(3)); }), {"volume 3", "volumes"}));
  CHECK(says(refusal([&] { s.delete_volume(volume_id(3)); }),
             {"volume 3 does not exist", "volumes"}));
}

TEST_CASE("an unknown fault, or one of an SSD that does not exist, is refused") {
  host::session s(small);
  CHECK(says(refusal([&] { s.inject_fault(4, "dead"); }), {"SSD 4", "has 4"}));
  CHECK(
      says(refusal([&] { s.inject_fault(0, "slow"); }), {"slow", "media_error", "dead", "silent"}));
}

TEST_CASE(
    "volumes are listed in order, and a deleted one's number is used again without its bytes") {
  host::session s(small);
  const std::vector<unsigned char> bytes(1 << 20, 7);
  for (std::uint16_t vid = 1; vid <= 12; ++vid) {
    const volume_info v = s.create_volume({.bytes = bytes.size()});
    CHECK(v.vid.value == vid);
    s.write(v, 0, bytes.data(), bytes.size());
  }
  s.delete_volume(volume_id(5));
  CHECK(s.volumes().size() == 11);
  const volume_info again = s.create_volume({.bytes = bytes.size()});
  CHECK(again.vid.value == 5);
  std::vector<unsigned char> read(bytes.size(), 1);
  s.read(again, 0, read.data(), read.size());
  CHECK(read == std::vector<unsigned char>(bytes.size()));
  const auto all = s.volumes();
  REQUIRE(all.size() == 12);
  for (std::uint16_t k = 0; k < 12; ++k) CHECK(all[k].vid == k + 1);
}

TEST_CASE("a full flash is a clear error, and deleting a volume makes room") {
  host::session s("emu:?capacity=16M&ssds=2");
  const std::vector<unsigned char> bytes(15 << 20, 7);
  const volume_info a = s.create_volume({.bytes = bytes.size()});
  const volume_info b = s.create_volume({.bytes = bytes.size()});
  s.write(a, 0, bytes.data(), bytes.size());
  const std::string said = refusal([&] { s.write(b, 0, bytes.data(), bytes.size()); });
  CHECK(says(said, {"writing volume 2", "flash is full", "delete volumes"}));
  s.delete_volume(a.vid);
  CHECK(refusal([&] { s.write(b, 0, bytes.data(), bytes.size()); }).empty());
}

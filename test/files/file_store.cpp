/// The pages of a file, over a device that is looked at by the way.
#include <gnstor/files/file_store.hpp>
#include <gnstor/simt/clock.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <vector>

using namespace gnstor;

namespace {

/// Reads its own offsets, and lets somebody do something meanwhile.
struct watched_reader {
  std::function<void()>* meanwhile;
  std::uint32_t lba = 512;

  std::uint32_t lba_bytes() const { return lba; }
  status read(std::uint64_t offset, std::uint64_t bytes, const io_buffer& to, deadline) const {
    CHECK(offset % lba == 0);
    CHECK(bytes % lba == 0);
    CHECK(bytes <= to.bytes);
    for (std::uint64_t k = 0; k < bytes; ++k)
      reinterpret_cast<unsigned char*>(to.address)[k] =
          static_cast<unsigned char>(offset / 512 + 1);
    if (*meanwhile) (*meanwhile)();
    return {};
  }
};

/// Of a file that ends within its second logical block.
constexpr file_piece whole{0, 1024, 700};

struct page_rig {
  std::vector<unsigned char> frame = std::vector<unsigned char>(4096, 0xee);
  std::function<void()> meanwhile;
  std::uint32_t stale = 0;
  std::vector<file_piece> pieces = std::vector<file_piece>(1, whole);
  status fetch(std::uint32_t page = 0) {
    const file_store<watched_reader> store(
        {&meanwhile}, file_map(pieces.data(), static_cast<std::uint32_t>(pieces.size())), 4096,
        &stale);
    return store.fetch(page_index(page),
                       {reinterpret_cast<std::uint64_t>(frame.data()), frame.size(), 0, 0},
                       simt::within(1'000'000'000));
  }
};

}  // namespace

TEST_CASE("behind a file's end, and in its holes, there are zeroes and nothing of the device") {
  page_rig rig;
  REQUIRE(rig.fetch().ok());
  for (std::size_t k = 0; k < 4096; ++k) CHECK(rig.frame[k] == (k < 700 ? 3 : 0));
  rig.pieces = {{0, 0, 512}, {512, file_piece::nowhere, 1024}, {1536, 5120, 512}};
  rig.frame.assign(4096, 0xee);
  REQUIRE(rig.fetch().ok());
  for (std::size_t k = 0; k < 4096; ++k)
    CHECK(rig.frame[k] == (k < 512 ? 1 : k >= 1536 && k < 2048 ? 11 : 0));
  rig.frame.assign(4096, 0xee);
  REQUIRE(rig.fetch(7).ok());  // wholly behind the end
  for (const unsigned char byte : rig.frame) CHECK(byte == 0);
}

TEST_CASE("a file that changes before, during or behind a read of the device is stale") {
  page_rig before;
  before.stale = 1;
  before.meanwhile = [] { FAIL("the device was read"); };
  CHECK(before.fetch().code == status_code::stale);
  page_rig during;
  during.meanwhile = [&] { during.stale = 1; };
  CHECK(during.fetch().code == status_code::stale);
  page_rig sound;
  CHECK(sound.fetch().ok());
}

TEST_CASE("nothing is stored to a file") {
  page_rig rig;
  const file_store<watched_reader> store({&rig.meanwhile}, file_map(rig.pieces.data(), 1), 4096,
                                         nullptr);
  CHECK(store.store(page_index(0), {}, simt::within(1)).code == status_code::unsupported);
}

TEST_CASE("a byte is found in its piece, by halving") {
  std::vector<file_piece> pieces;
  std::uint64_t at = 0;
  for (std::uint64_t k = 0; k < 1000; ++k) {
    const std::uint64_t bytes = 512 * (1 + k * 7 % 13);
    pieces.push_back({at, k % 3 == 0 ? file_piece::nowhere : k << 20, bytes});
    at += bytes;
  }
  for (const std::uint32_t count : {1u, 2u, 3u, 999u, 1000u}) {
    const file_map map(pieces.data(), count);
    for (std::uint32_t k = 0; k < count; ++k) {
      for (const std::uint64_t within : {std::uint64_t{0}, std::uint64_t{1}, pieces[k].bytes - 1}) {
        const file_piece p = map.from(pieces[k].file_offset + within);
        CHECK(p.file_offset == pieces[k].file_offset + within);
        CHECK(p.bytes == pieces[k].bytes - within);
        CHECK(p.is_stored() == pieces[k].is_stored());
        if (p.is_stored()) CHECK(p.device_offset == pieces[k].device_offset + within);
      }
    }
    CHECK(map.from(pieces[count - 1].end()).bytes == 0);
  }
  CHECK(file_map(nullptr, 0).from(0).bytes == 0);
}

/// Images with damage drawn from a seed, under checksums that are right: a reader ends, with a
/// message or with something that is within the device. GNSTOR_DAMAGE=100000 for more of it.
#include "files/ondisk/directory_block.hpp"
#include "files/ondisk/group_inodes.hpp"
#include "files/ondisk/inode_core.hpp"
#include "files/ondisk/log_record.hpp"
#include "files/ondisk/superblock.hpp"
#include "files/ondisk/tree_block.hpp"
#include "files/xfs_image.hpp"
#include <gnstor/files/xfs_file_system.hpp>
#include <gnstor/host/error.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <random>

using namespace gnstor::host::files;
using gnstor::test::xfs_image;

namespace {

/// A structure that is damaged: where it is, and where its checksum, if it has one.
struct victim {
  std::uint64_t offset;
  std::size_t bytes;
  std::size_t crc_at;
};

std::vector<victim> victims_of(const xfs_image& image) {
  const auto s = image.load<xfs::superblock>(0);
  const std::size_t block = s.block_bytes;
  const std::size_t names = block << s.directory_block_log;
  std::vector<victim> all;
  for (std::uint64_t at = 0; at + names <= image.bytes(); at += 256) {
    const std::uint32_t magic = image.load<xfs::big32>(at);
    if (at == 0) all.push_back({at, 512, offsetof(xfs::superblock, crc)});
    if (magic == xfs::group_inodes_magic)
      all.push_back({at, 512, offsetof(xfs::group_inodes, crc)});
    if (magic == xfs::log_record_magic) all.push_back({at, 1024, 0});
    if (magic == xfs::inode_tree_magic5 || magic == xfs::inode_tree_magic4)
      all.push_back({at, block, offsetof(xfs::short_tree_block, crc)});
    if (magic == xfs::only_block_magic5 || magic == xfs::data_block_magic5 ||
        magic == xfs::only_block_magic4 || magic == xfs::data_block_magic4)
      all.push_back({at, names, offsetof(xfs::directory_block5, crc)});
    if (magic >> 16 == xfs::inode_magic && at % s.inode_bytes == 0 &&
        (image.load<xfs::inode_core>(at).mode & xfs::mode_kind_mask) != 0) {
      all.push_back({at, s.inode_bytes, offsetof(xfs::inode_core, crc)});
    }
  }
  return all;
}

void change(xfs_image& image, const victim& v, std::mt19937_64& random) {
  // Mostly what stands at the beginning: numbers, not names.
  const std::size_t range = random() % 3 != 0 ? std::min<std::size_t>(v.bytes, 240) : v.bytes;
  const std::uint64_t at = v.offset + random() % range;
  const unsigned room = static_cast<unsigned>(std::min<std::uint64_t>(8, v.offset + v.bytes - at));
  constexpr std::uint64_t values[] = {0, 1, 0xff, 0xffff, 0x7fffffff, ~std::uint64_t{0}};
  switch (random() % 4) {
    case 0: image.all()[at] ^= static_cast<std::byte>(1 << random() % 8); break;
    case 1: image.store(at, random(), 1); break;
    case 2: image.store(at, values[random() % std::size(values)], 1 + random() % room); break;
    default: image.store(at, random() >> random() % 64, room); break;
  }
}

/// Reads everything there is. True if nothing was found wrong.
bool reads(xfs_image& image) {
  try {
    const xfs_file_system files(image);
    files.walk(files.root(), [&](const std::string&, const file_status& s) {
      const bool link = s.kind == file_kind::symlink;
      const std::string target = link ? files.symlink_target(s.inode) : "";
      CHECK(target.empty() != link);
      if (s.kind != file_kind::regular) return;
      std::uint64_t done = 0;
      for (const file_extent& e : files.extents(s.inode)) {
        CHECK((e.file_offset == done && e.bytes != 0));
        done += e.bytes;
        if (e.state == extent_state::hole) continue;
        CHECK((e.device_offset >= 2048 && e.device_offset <= image.bytes()));
        CHECK(e.bytes <= image.bytes() - e.device_offset);
      }
      CHECK(done == s.bytes);
    });
    return true;
  } catch (const gnstor::host::error& e) {
    CHECK(std::string(e.what()).starts_with("image: "));
    return false;
  }
}

void damage(const std::string& options, std::uint64_t seed) {
  const char* const wanted = std::getenv("GNSTOR_DAMAGE");
  const std::uint64_t rounds = wanted == nullptr ? 1'000 : std::strtoull(wanted, nullptr, 10);
  xfs_image image(options, false);
  const bool version5 = (image.load<xfs::superblock>(0).version & 15) == 5;
  const std::vector<victim> victims = victims_of(image);
  REQUIRE(victims.size() > 60);
  REQUIRE(reads(image));
  std::mt19937_64 random(seed);
  std::uint64_t found = 0;
  for (std::uint64_t k = 0; k < rounds; ++k) {
    CAPTURE(k);
    // Each of the structures that are not inodes as often as all of these.
    victim v = victims[random() % victims.size()];
    for (int again = 0; again < 3 && v.bytes <= 512 && v.offset != 0; ++again)
      v = victims[random() % victims.size()];
    const auto begin = image.all().begin() + static_cast<std::ptrdiff_t>(v.offset);
    const std::vector<std::byte> kept(begin, begin + static_cast<std::ptrdiff_t>(v.bytes));
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) change(image, v, random);
    if (version5 && v.crc_at != 0) image.seal(v.offset, v.bytes, v.crc_at);
    found += reads(image) ? 0 : 1;
    std::ranges::copy(kept, begin);
  }
  MESSAGE(options << ", seed " << seed << ": of " << rounds << " damaged images " << found
                  << " ended in a message");
  CHECK(found > rounds / 20);
  CHECK(reads(image));
}

const bool no_mkfs = !xfs_image::possible();

}  // namespace

TEST_CASE("damage under right checksums ends in a message, or in what the device has" *
          doctest::skip(no_mkfs)) {
  damage("-m crc=1", 1);
  damage("-n size=64k -i nrext64=1", 2);
  damage("-m crc=0 -b size=512", 3);
  damage("-m crc=0 -n ftype=0 -i size=256", 4);
}

#include "files/extent_list.hpp"

#include "files/ondisk/tree_block.hpp"
#include "files/xfs_image.hpp"
#include <gnstor/host/error.hpp>

#include <doctest/doctest.h>

#include <cstring>

using namespace gnstor::host::files;
using gnstor::test::xfs_image;

namespace {

constexpr std::uint32_t block = 4096;

/// A file whose B+tree of extents a test lays out: a root in the inode, and blocks from 20 on.
struct made_file {
  explicit made_file(bool version5) : image(std::vector<std::byte>(1024 * block)) {
    shape.version5 = version5;
    shape.sector_bytes = 512;
    shape.block_log = 12;
    shape.group_blocks = 1024;
    shape.group_blocks_log = 10;
    shape.groups = 1;
    shape.blocks = 1024;
    shape.log_block = 900;
    shape.log_blocks = 100;
  }

  std::size_t header() const {
    return shape.version5 ? sizeof(xfs::long_tree_block) : offsetof(xfs::long_tree_block, sector);
  }
  void head(std::uint64_t at, unsigned level, unsigned count) {
    image.store(at * block, shape.version5 ? xfs::extent_tree_magic5 : xfs::extent_tree_magic4, 4);
    image.store(at * block + 4, level, 2);
    image.store(at * block + 6, count, 2);
  }
  void seal(std::uint64_t at) {
    if (!shape.version5) return;
    image.store(at * block + offsetof(xfs::long_tree_block, sector), at * 8, 8);
    image.store(at * block + offsetof(xfs::long_tree_block, owner), 77, 8);
    image.seal(at * block, block, offsetof(xfs::long_tree_block, crc));
  }
  /// A leaf of `count` extents of one block, two apart in the file, each second one unwritten.
  void leaf(std::uint64_t at, std::uint64_t file_block, unsigned count) {
    head(at, 0, count);
    for (std::uint64_t k = 0; k < count; ++k) {
      const std::uint64_t record = at * block + header() + k * 16;
      image.store(record, (k % 2) << 63 | (file_block + 2 * k) << 9, 8);
      image.store(record + 8, (100 + file_block + 2 * k) << 21 | 1, 8);
    }
    seal(at);
  }
  void inner(std::uint64_t at, unsigned level, const std::vector<std::uint64_t>& keys,
             const std::vector<std::uint64_t>& blocks) {
    head(at, level, static_cast<unsigned>(keys.size()));
    const std::size_t most = (block - header()) / 16;
    for (std::size_t k = 0; k < keys.size(); ++k) {
      image.store(at * block + header() + k * 8, keys[k], 8);
      image.store(at * block + header() + (most + k) * 8, blocks[k], 8);
    }
    seal(at);
  }
  std::vector<block_extent> read(unsigned level, const std::vector<std::uint64_t>& keys,
                                 const std::vector<std::uint64_t>& blocks, std::uint64_t extents) {
    constexpr std::size_t fork = 336;
    xfs_image root(std::vector<std::byte>(512));
    root.store(176, level, 2);
    root.store(178, keys.size(), 2);
    for (std::size_t k = 0; k < keys.size(); ++k) {
      root.store(180 + k * 8, keys[k], 8);
      root.store(180 + ((fork - 4) / 16 + k) * 8, blocks[k], 8);
    }
    inode file{.number = inode_number{77},
               .extents = extents,
               .raw = structure(root, "inode 77", 0, 512),
               .fork_at = 176,
               .fork_bytes = fork};
    file.core.format = xfs::format_tree;
    return read_extents(image, shape, file);
  }
  std::string said(unsigned level, const std::vector<std::uint64_t>& keys,
                   const std::vector<std::uint64_t>& blocks, std::uint64_t extents) {
    try {
      read(level, keys, blocks, extents);
    } catch (const gnstor::host::error& e) {
      return e.what();
    }
    return "";
  }

  xfs_image image;
  geometry shape;
};

bool holds(const std::string& all, const char* text) {
  CAPTURE(all);
  const bool found = all.find(text) != all.npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("a B+tree of extents is read in the file's order, on every level") {
  for (const bool version5 : {false, true}) {
    made_file f(version5);
    f.leaf(20, 0, 100);
    f.leaf(21, 200, 50);
    f.leaf(22, 300, 3);
    const auto flat = f.read(1, {0, 200, 300}, {20, 21, 22}, 153);
    REQUIRE(flat.size() == 153);
    for (std::size_t k = 0; k < flat.size(); ++k) {
      const std::uint64_t at = 2 * k;
      CHECK(flat[k].file_block == at);
      CHECK(flat[k].device_offset == (100 + at) * block);
      CHECK(flat[k].blocks == 1);
    }
    CHECK((!flat[0].unwritten && flat[1].unwritten && flat[101].unwritten));
    f.inner(30, 1, {0, 200}, {20, 21});
    f.inner(31, 1, {300}, {22});
    CHECK(f.read(2, {0, 300}, {30, 31}, 153) == flat);
  }
}

TEST_CASE("a B+tree of extents that is damaged ends in a message") {
  for (const bool version5 : {false, true}) {
    made_file f(version5);
    f.leaf(20, 0, 100);
    f.leaf(21, 200, 50);
    f.inner(30, 1, {0, 200}, {20, 21});
    CHECK(f.said(2, {0}, {30}, 150) == "");
    holds(f.said(2, {0}, {30}, 149), "more extents than the inode says");
    holds(f.said(2, {0}, {30}, 151), "another number of extents");
    holds(f.said(1, {0, 0}, {20, 20}, 200), "an extent that begins before the last one ends");
    holds(f.said(1, {0, 100}, {20, 21}, 150), "it begins elsewhere than its parent says");
    holds(f.said(1, {0}, {30}, 150), "it is of another level of the tree");
    holds(f.said(3, {0}, {30}, 150), "it is of another level of the tree");
    holds(f.said(17, {0}, {30}, 150), "an impossible height");
    holds(f.said(2, {0}, {1'000'000}, 150), "its tree of extents leaves the device");
    holds(f.said(2, {0}, {950}, 150), "its tree of extents leaves the device");
    holds(f.said(2, {0}, {40}, 150), "it is no block of such a tree");
    f.inner(30, 1, {0, 200}, {20, 30});  // a circle
    holds(f.said(2, {0}, {30}, 150), "it is of another level of the tree");
    if (version5) {
      f.image.store(21 * block + 4000, 1, 1);
      holds(f.said(1, {0, 200}, {20, 21}, 150), "its checksum is");
    }
    f.leaf(20, 0, 300);
    holds(f.said(1, {0}, {20}, 300), "more than fit");
  }
}

TEST_CASE("extents in bytes cover a file without a gap and end with it") {
  const std::vector<block_extent> e = {{1, 40960, 2, false}, {3, 49152, 1, false},
                                       {4, 53248, 2, true},  {6, 61440, 4, false},
                                       {10, 8192, 1, false}, {20, 4096, 9, false}};
  using enum extent_state;
  CHECK(in_bytes(e, 12, 50'000) == std::vector<file_extent>{{0, 0, 4096, hole},
                                                            {4096, 40960, 12288, data},
                                                            {16384, 53248, 8192, unwritten},
                                                            {24576, 61440, 16384, data},
                                                            {40960, 8192, 4096, data},
                                                            {45056, 0, 4944, hole}});
  CHECK(in_bytes(e, 12, 5'000) ==
        std::vector<file_extent>{{0, 0, 4096, hole}, {4096, 40960, 904, data}});
  CHECK(in_bytes({}, 12, 0).empty());
  CHECK(in_bytes({}, 12, 1) == std::vector<file_extent>{{0, 0, 1, hole}});
}

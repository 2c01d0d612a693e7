#include "files/inode_index.hpp"

#include "files/ondisk/group_inodes.hpp"
#include "files/ondisk/tree_block.hpp"
#include "files/xfs_image.hpp"
#include <gnstor/host/error.hpp>

#include <doctest/doctest.h>

using namespace gnstor::host::files;
using gnstor::test::xfs_image;

namespace {

constexpr std::uint32_t block = 4096;

/// The inode tree of a group of 1,024 blocks with 8 inodes each, which a test lays out.
struct made_group {
  explicit made_group(bool version5) : image(std::vector<std::byte>(1024 * block)) {
    shape.version5 = version5;
    shape.sparse_inodes = version5;
    shape.sector_bytes = 512;
    shape.block_log = 12;
    shape.group_blocks = 1024;
    shape.group_blocks_log = 10;
    shape.groups = 1;
    shape.blocks = 1024;
    shape.inode_bytes = 512;
    shape.inodes_per_block_log = 3;
    shape.log_block = 900;
    shape.log_blocks = 100;
    image.store(1024, xfs::group_inodes_magic, 4);
    root(20, 1);
  }

  void root(std::uint32_t at, std::uint32_t levels) {
    image.store(1024 + offsetof(xfs::group_inodes, root), at, 4);
    image.store(1024 + offsetof(xfs::group_inodes, levels), levels, 4);
    if (shape.version5) image.seal(1024, 512, offsetof(xfs::group_inodes, crc));
  }
  std::size_t header() const {
    return shape.version5 ? sizeof(xfs::short_tree_block) : offsetof(xfs::short_tree_block, sector);
  }
  void head(std::uint64_t at, unsigned level, unsigned count) {
    image.store(at * block, shape.version5 ? xfs::inode_tree_magic5 : xfs::inode_tree_magic4, 4);
    image.store(at * block + 4, level, 2);
    image.store(at * block + 6, count, 2);
    if (shape.version5)
      image.store(at * block + offsetof(xfs::short_tree_block, sector), at * 8, 8);
  }
  void seal(std::uint64_t at) {
    if (shape.version5) image.seal(at * block, block, offsetof(xfs::short_tree_block, crc));
  }
  struct chunk {
    std::uint32_t first;
    std::uint16_t holes;
    std::uint64_t free;
  };
  void leaf(std::uint64_t at, const std::vector<chunk>& chunks) {
    head(at, 0, static_cast<unsigned>(chunks.size()));
    for (std::size_t k = 0; k < chunks.size(); ++k) {
      const std::uint64_t record = at * block + header() + k * 16;
      image.store(record, chunks[k].first, 4);
      image.store(record + 4, chunks[k].holes, 2);
      image.store(record + 8, chunks[k].free, 8);
    }
    seal(at);
  }
  bool in_use(std::uint32_t number) {
    inode_index index(image, shape);
    return index.in_use({.group = 0, .number = number});
  }
  std::string said(std::uint32_t number) {
    try {
      in_use(number);
    } catch (const gnstor::host::error& e) {
      return e.what();
    }
    return "";
  }

  xfs_image image;
  geometry shape;
};

}  // namespace

TEST_CASE("an inode is in use where its chunk has it, and says that it is not free") {
  for (const bool version5 : {false, true}) {
    made_group g(version5);
    g.leaf(20, {{128, 0, 0xff00}, {256, 0, 0}});
    CHECK((g.in_use(128) && g.in_use(135) && g.in_use(144) && g.in_use(191)));
    CHECK((!g.in_use(136) && !g.in_use(143)));
    CHECK((!g.in_use(127) && !g.in_use(192) && !g.in_use(255)));
    CHECK((g.in_use(256) && g.in_use(319) && !g.in_use(320)));
  }
}

TEST_CASE("an inode of a sparse chunk's hole is not in use") {
  made_group g(true);
  g.leaf(20, {{128, 0xff00, 0}});  // the second half has no blocks
  CHECK((g.in_use(128) && g.in_use(159)));
  CHECK((!g.in_use(160) && !g.in_use(191)));
  made_group old(false);  // the same bytes are a count in version 4
  old.leaf(20, {{128, 0xff00, 0}});
  CHECK(old.in_use(191));
}

TEST_CASE("a higher tree of inodes leads to the leaf, or to a message") {
  for (const bool version5 : {false, true}) {
    made_group g(version5);
    g.leaf(20, {{128, 0, 0}});
    g.leaf(21, {{512, 0, 1}, {640, 0, 0}});
    g.head(22, 1, 2);
    const std::uint64_t most = (block - g.header()) / 8;
    for (std::uint64_t k = 0; k < 2; ++k) {
      g.image.store(22 * block + g.header() + k * 4, k == 0 ? 128 : 512, 4);
      g.image.store(22 * block + g.header() + (most + k) * 4, 20 + k, 4);
    }
    g.seal(22);
    g.root(22, 2);
    CHECK((g.in_use(128) && g.in_use(191) && !g.in_use(192)));
    CHECK((!g.in_use(512) && g.in_use(513) && g.in_use(640)));
    g.root(22, 3);
    CHECK(g.said(128).find("it is of another level of the tree") != std::string::npos);
    g.root(22, 200);
    CHECK(g.said(128).find("an impossible height") != std::string::npos);
    g.root(5000, 2);
    CHECK(g.said(128).find("there is no such block") != std::string::npos);
    g.root(40, 1);
    CHECK(g.said(128).find("it is no block of such a tree") != std::string::npos);
    g.leaf(20, {});
    g.head(20, 0, 600);
    g.seal(20);
    g.root(20, 1);
    CHECK(g.said(128).find("more entries than fit") != std::string::npos);
  }
}

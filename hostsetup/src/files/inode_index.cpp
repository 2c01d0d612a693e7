#include "files/inode_index.hpp"

#include "files/ondisk/group_inodes.hpp"
#include "files/ondisk/inode_chunk.hpp"
#include "files/ondisk/tree_block.hpp"
#include "files/verify.hpp"

#include <fmt/format.h>

namespace gnstor::host::files {
namespace {

constexpr std::uint32_t max_inode_levels = 10;  // 2^26 chunks, 15 children a block

}  // namespace

std::uint32_t inode_index::header_bytes() const {
  return shape_->version5 ? sizeof(xfs::short_tree_block) : offsetof(xfs::short_tree_block, sector);
}

inode_index::root inode_index::root_of(std::uint32_t group) {
  if (const auto known = roots_.find(group); known != roots_.end()) return known->second;
  const structure s(*source_, fmt::format("inode header (AGI) of group {}", group),
                    shape_->sector_of(group, 2), shape_->sector_bytes);
  const auto header = s.load<xfs::group_inodes>(0);
  s.require(header.magic == xfs::group_inodes_magic, "it does not begin with \"XAGI\"");
  if (shape_->version5) {
    s.require_crc(offsetof(xfs::group_inodes, crc));
    s.require(header.id == shape_->id, "it belongs to another file system (UUID)");
  }
  s.require(header.group == group, "it says that it is of another group");
  s.require(header.levels != 0 && header.levels <= max_inode_levels,
            "an impossible height of its tree");
  const root r{header.root, header.levels};
  roots_.emplace(group, r);
  return r;
}

structure inode_index::tree_block(std::uint32_t group, std::uint32_t block,
                                  std::uint32_t level) const {
  const std::optional<std::uint64_t> place = shape_->place_in(group, block);
  const std::string what = fmt::format("block {} of the inode tree of group {}", block, group);
  if (!place) structure(*source_, what, 0, {}).damaged("there is no such block");
  structure s(*source_, what, *place, shape_->block_bytes());
  const auto header = s.load<xfs::tree_block>(0);
  const std::uint32_t magic = shape_->version5 ? xfs::inode_tree_magic5 : xfs::inode_tree_magic4;
  s.require(header.magic == magic, "it is no block of such a tree");
  verify<xfs::short_tree_block>(s, *shape_, group);
  s.require(header.level == level, "it is of another level of the tree");
  const std::uint32_t entry = level == 0 ? sizeof(xfs::inode_chunk) : 8;
  s.require(header.count <= (s.bytes().size() - header_bytes()) / entry,
            "it says that it has more entries than fit");
  return s;
}

inode_index::leaf inode_index::find_leaf(const inode_place& place) {
  const root r = root_of(place.group);
  std::uint32_t block = r.block;
  for (std::uint32_t level = r.levels - 1; level > 0; --level) {
    const structure s = tree_block(place.group, block, level);
    const std::uint32_t count = s.load<xfs::tree_block>(0).count;
    const std::uint32_t most = (shape_->block_bytes() - header_bytes()) / 8;
    s.require(count != 0, "it has no entries");
    std::uint32_t chosen = 0;
    for (std::uint32_t k = 1; k < count; ++k) {
      if (s.load<xfs::big32>(header_bytes() + k * 4) <= place.number) chosen = k;
    }
    block = s.load<xfs::big32>(header_bytes() + most * 4 + chosen * 4);
  }
  structure s = tree_block(place.group, block, 0);
  const std::uint32_t count = s.load<xfs::tree_block>(0).count;
  return {std::move(s), place.group, count};
}

bool inode_index::in_use(const inode_place& place) {
  const auto chunk_of = [&](const leaf& l) -> std::optional<xfs::inode_chunk> {
    for (std::uint32_t k = 0; k < l.count; ++k) {
      const auto chunk =
          l.block.load<xfs::inode_chunk>(header_bytes() + k * sizeof(xfs::inode_chunk));
      if (chunk.first <= place.number && place.number - chunk.first < xfs::inodes_per_chunk)
        return chunk;
    }
    return {};
  };
  std::optional<xfs::inode_chunk> chunk;
  if (last_ && last_->group == place.group) chunk = chunk_of(*last_);
  if (!chunk) {
    last_.emplace(find_leaf(place));
    chunk = chunk_of(*last_);
  }
  if (!chunk) return false;
  const std::uint32_t k = place.number - chunk->first;
  if (shape_->sparse_inodes && (chunk->holes >> k / xfs::inodes_per_hole_bit & 1) != 0)
    return false;
  return (chunk->free_mask >> k & 1) == 0;
}

}  // namespace gnstor::host::files

#include "files/extent_list.hpp"

#include "files/ondisk/extent_record.hpp"
#include "files/ondisk/tree_block.hpp"
#include "files/verify.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::host::files {
namespace {

constexpr std::uint32_t max_extent_levels = 16;  // 2^48 extents, 15 children a block
constexpr std::size_t key_bytes = 8;
constexpr std::size_t pointer_bytes = 8;

/// Collects a file's records and checks each against those before it. As every block of a tree has
/// to go on behind the last one's end, none is read twice: a circle ends here.
class extent_collector {
 public:
  extent_collector(block_source& source, const geometry& shape, const inode& file)
      : source_(&source), shape_(&shape), file_(&file) {}

  void add_list(const structure& s, std::size_t at, std::uint64_t count) {
    for (std::uint64_t k = 0; k < count; ++k)
      add(s, s.load<xfs::extent_record>(at + k * sizeof(xfs::extent_record)));
  }
  /// What a block of level `level` holds; its first key is `first_key`.
  void add_tree(std::uint64_t block, std::uint32_t level, std::uint64_t first_key);
  /// The pointers of an inner block or of the root, whose keys begin at `at`.
  void add_children(const structure& s, std::size_t at, std::size_t room, std::uint32_t count,
                    std::uint32_t level);
  std::vector<block_extent> take() {
    file_->raw.require(extents_.size() == file_->extents,
                       "it says that it has another number of extents");
    return std::move(extents_);
  }

 private:
  void add(const structure& s, const xfs::extent_record& record);

  block_source* source_;
  const geometry* shape_;
  const inode* file_;
  std::vector<block_extent> extents_;
  std::uint64_t next_block_ = 0;  ///< of the file: where the last one ends
};

void extent_collector::add(const structure& s, const xfs::extent_record& record) {
  const std::uint64_t end = record.file_block() + record.blocks();
  s.require(record.blocks() != 0, "an extent without blocks");
  s.require(extents_.empty() || record.file_block() >= next_block_,
            "an extent that begins before the last one ends");
  s.require(end <= std::uint64_t{1} << (63 - shape_->block_log),
            "an extent behind the end of every file");
  const auto place = shape_->place(record.device_block(), record.blocks());
  s.require(place.has_value(), "an extent that leaves the data blocks of the device");
  s.require(extents_.size() < file_->extents, "more extents than the inode says");
  extents_.push_back({record.file_block(), *place, record.blocks(), record.unwritten()});
  next_block_ = end;
}

void extent_collector::add_children(const structure& s, std::size_t at, std::size_t room,
                                    std::uint32_t count, std::uint32_t level) {
  const std::size_t most = room / (key_bytes + pointer_bytes);
  s.require(count != 0 && count <= most, "it has no entries, or more than fit");
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::uint64_t key = s.load<xfs::big64>(at + k * key_bytes);
    add_tree(s.load<xfs::big64>(at + most * key_bytes + k * pointer_bytes), level - 1, key);
  }
}

void extent_collector::add_tree(std::uint64_t block, std::uint32_t level, std::uint64_t first_key) {
  const std::optional<std::uint64_t> place = shape_->place(block);
  file_->raw.require(place.has_value(), "its tree of extents leaves the device");
  const structure s(*source_, fmt::format("tree of extents of inode {}", value(file_->number)),
                    *place, shape_->block_bytes());
  const auto header = s.load<xfs::tree_block>(0);
  const std::uint32_t magic = shape_->version5 ? xfs::extent_tree_magic5 : xfs::extent_tree_magic4;
  s.require(header.magic == magic, "it is no block of such a tree");
  verify<xfs::long_tree_block>(s, *shape_, value(file_->number));
  s.require(header.level == level, "it is of another level of the tree");
  const std::size_t at =
      shape_->version5 ? sizeof(xfs::long_tree_block) : offsetof(xfs::long_tree_block, sector);
  const std::size_t room = s.bytes().size() - at;
  if (level != 0) {
    s.require(s.load<xfs::big64>(at) == first_key, "it begins elsewhere than its parent says");
    return add_children(s, at, room, header.count, level);
  }
  s.require(header.count != 0 && header.count <= room / sizeof(xfs::extent_record),
            "it has no entries, or more than fit");
  s.require(s.load<xfs::extent_record>(at).file_block() == first_key,
            "it begins elsewhere than its parent says");
  add_list(s, at, header.count);
}

}  // namespace

std::vector<block_extent> read_extents(block_source& source, const geometry& shape,
                                       const inode& file) {
  extent_collector all(source, shape, file);
  if (file.core.format == xfs::format_extents) {
    file.raw.require(file.extents <= file.fork_bytes / sizeof(xfs::extent_record),
                     "more extents than fit into it");
    all.add_list(file.raw, file.fork_at, file.extents);
  } else if (file.core.format == xfs::format_tree) {
    const auto root = file.raw.load<xfs::tree_root>(file.fork_at);
    file.raw.require(
        root.level != 0 && root.level <= max_extent_levels && file.fork_bytes > sizeof root,
        "an impossible height of its tree of extents");
    all.add_children(file.raw, file.fork_at + sizeof root, file.fork_bytes - sizeof root,
                     root.count, root.level);
  } else {
    file.raw.damaged("a format without extents");
  }
  return all.take();
}

std::vector<file_extent> in_bytes(const std::vector<block_extent>& extents, std::uint32_t block_log,
                                  std::uint64_t bytes) {
  std::vector<file_extent> all;
  std::uint64_t done = 0;
  const auto add = [&](std::uint64_t until, std::uint64_t device, extent_state state) {
    const std::uint64_t end = std::min(until, bytes);
    if (done >= end) return;
    file_extent* const last = all.empty() ? nullptr : &all.back();
    if (last != nullptr && last->state == state &&
        (state == extent_state::hole || last->device_offset + last->bytes == device)) {
      last->bytes += end - done;
    } else {
      all.push_back({done, device, end - done, state});
    }
    done = end;
  };
  for (const block_extent& e : extents) {
    add(e.file_block << block_log, 0, extent_state::hole);
    add((e.file_block + e.blocks) << block_log, e.device_offset,
        e.unwritten ? extent_state::unwritten : extent_state::data);
  }
  add(bytes, 0, extent_state::hole);
  return all;
}

}  // namespace gnstor::host::files

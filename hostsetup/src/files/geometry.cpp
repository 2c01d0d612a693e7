#include "files/geometry.hpp"

#include "files/ondisk/superblock.hpp"
#include "files/structure.hpp"
#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <bit>

namespace gnstor::host::files {
namespace {

constexpr std::uint32_t min_group_blocks = 64;

input_error refused(const block_source& source, const std::string& why) {
  return input_error(source.name() + ": " + why);
}

/// Throws what a version 4 or 5 says that this reader does not know.
void check_features(const block_source& source, const xfs::superblock& s, bool version5) {
  const char* const remedy = ": mount it with Linux and read the files there";
  if (s.in_progress != 0)
    throw refused(source, "mkfs.xfs has not ended on this device: make the file system again");
  if ((s.version & xfs::version_directory2) == 0 || (s.version & xfs::version_shared) != 0)
    throw refused(source, fmt::format("an XFS of features {:#06x}, from before 2001{}",
                                      std::uint16_t{s.version}, remedy));
  if (!version5) {
    const bool more = (s.version & xfs::version_more_bits) != 0;
    const std::uint32_t unknown =
        more ? (s.features2 | s.bad_features2) & ~xfs::features2_known : 0;
    if (unknown != 0)
      throw refused(source, fmt::format("XFS features (features2) {:#x} are unknown to this "
                                        "reader{}",
                                        unknown, remedy));
    return;
  }
  if ((s.incompatible & xfs::incompatible_needs_repair) != 0)
    throw refused(source, "the file system is marked as in need of repair: run xfs_repair");
  const std::uint32_t unknown = s.incompatible & ~xfs::incompatible_known;
  if (unknown != 0)
    throw refused(source, fmt::format("XFS features (incompat) {:#x} are unknown to this reader{}",
                                      unknown, remedy));
}

void check_devices(const block_source& source, const xfs::superblock& s) {
  if (s.realtime_blocks != 0)
    throw refused(source,
                  "a part of the file system is on a realtime device, which is not read: copy the "
                  "files to one without");
  if (s.log_start == 0)
    throw refused(source,
                  "the log is on another device, so that it cannot be seen whether it is clean: "
                  "copy the files to a file system with an internal log");
}

/// Throws unless the numbers agree with each other: they bound everything that is read later.
void check_shape(const structure& raw, const xfs::superblock& s, bool version5) {
  const auto power = [](std::uint32_t bytes, unsigned log, unsigned least, unsigned most) {
    return log >= least && log <= most && bytes == 1u << log;
  };
  raw.require(power(s.block_bytes, s.block_log, version5 ? 10 : 9, 16), "an impossible block size");
  raw.require(power(s.sector_bytes, s.sector_log, 9, 15) && s.sector_log <= s.block_log,
              "an impossible sector size");
  raw.require(power(s.inode_bytes, s.inode_log, version5 ? 9 : 8, 11) && s.inode_log <= s.block_log,
              "an impossible inode size");
  raw.require(s.inodes_per_block_log == s.block_log - s.inode_log &&
                  s.inodes_per_block == 1u << s.inodes_per_block_log,
              "an impossible count of inodes per block");
  raw.require(s.directory_block_log + s.block_log <= 16, "an impossible directory block size");
  const std::uint64_t group = s.group_blocks;
  raw.require(group >= min_group_blocks && group << s.block_log <= std::uint64_t{1} << 40 &&
                  s.group_blocks_log == std::bit_width(group - 1),
              "an impossible size of allocation groups");
  const std::uint64_t blocks = s.data_blocks;
  raw.require(s.groups != 0 && blocks > group * (s.groups - 1) && blocks <= group * s.groups &&
                  blocks - group * (s.groups - 1) >= (s.groups == 1 ? 1 : min_group_blocks) &&
                  blocks <= std::uint64_t{1} << (62 - s.block_log),
              "an impossible count of blocks or of allocation groups");
}

}  // namespace

std::uint32_t geometry::blocks_of(std::uint32_t group) const {
  if (group + 1 < groups) return group_blocks;
  return static_cast<std::uint32_t>(blocks - std::uint64_t{group_blocks} * (groups - 1));
}

std::optional<std::uint64_t> geometry::place(std::uint64_t block, std::uint64_t count) const {
  const std::uint64_t group = block >> group_blocks_log;
  if (group >= groups) return {};
  const std::uint64_t first = block & ((std::uint64_t{1} << group_blocks_log) - 1);
  const std::uint64_t size = blocks_of(static_cast<std::uint32_t>(group));
  // The group's four sectors of headers, which share a block with nothing else.
  const std::uint64_t headers = (3 * std::uint64_t{sector_bytes} >> block_log) + 1;
  if (count == 0 || first < headers || first >= size || count > size - first) return {};
  if (block < log_block + log_blocks && log_block < block + count) return {};
  return (group * group_blocks + first) << block_log;
}

std::optional<std::uint64_t> geometry::place_in(std::uint32_t group, std::uint32_t block) const {
  if (group >= groups || block >= group_blocks) return {};
  return place(std::uint64_t{group} << group_blocks_log | block);
}

std::optional<inode_place> geometry::place(inode_number inode) const {
  const std::uint32_t in_group_log = group_blocks_log + inodes_per_block_log;
  const std::uint64_t number = value(inode);
  const std::uint64_t group = number >> in_group_log;
  const std::optional<std::uint64_t> block = place(number >> inodes_per_block_log);
  if (!block || group >= groups || in_group_log > 32) return {};
  const std::uint64_t in_block = number & ((std::uint64_t{1} << inodes_per_block_log) - 1);
  return inode_place{
      .group = static_cast<std::uint32_t>(group),
      .number = static_cast<std::uint32_t>(number & ((std::uint64_t{1} << in_group_log) - 1)),
      .block = *block,
      .in_block = static_cast<std::uint32_t>(in_block) * inode_bytes};
}

std::uint64_t geometry::log_offset() const {
  const std::uint64_t in_group = log_block & ((std::uint64_t{1} << group_blocks_log) - 1);
  return ((log_block >> group_blocks_log) * group_blocks + in_group) << block_log;
}

std::uint64_t geometry::sector_of(std::uint32_t group, std::uint32_t sector) const {
  return ((std::uint64_t{group} * group_blocks) << block_log) +
         std::uint64_t{sector} * sector_bytes;
}

geometry read_geometry(block_source& source) {
  if (source.bytes() < 512) throw refused(source, "no XFS: the device has not even one sector");
  const structure first(source, "superblock", 0, 512);
  const auto s = first.load<xfs::superblock>(0);
  const std::uint32_t version = s.version & xfs::version_number_mask;
  if (s.magic != xfs::superblock_magic)
    throw refused(source, "no XFS: it does not begin with \"XFSB\": is this the right partition?");
  if (version != 4 && version != 5)
    throw refused(source, fmt::format("XFS version {} is unknown to this reader, which knows 4 and "
                                      "5",
                                      version));
  const bool version5 = version == 5;
  first.require(s.sector_log >= 9 && s.sector_log <= 15, "an impossible sector size");
  if (version5) {
    const structure whole(source, "superblock", 0, std::size_t{1} << s.sector_log);
    whole.require_crc(offsetof(xfs::superblock, crc));
  }
  check_features(source, s, version5);
  check_devices(source, s);
  check_shape(first, s, version5);
  const bool more = version5 || (s.version & xfs::version_more_bits) != 0;
  geometry g{.version5 = version5,
             .file_types = version5 ? (s.incompatible & xfs::incompatible_file_types) != 0
                                    : more && ((s.features2 | s.bad_features2) &
                                               xfs::features2_file_types) != 0,
             .sparse_inodes = version5 && (s.incompatible & xfs::incompatible_sparse_inodes) != 0,
             .sector_bytes = s.sector_bytes,
             .block_log = s.block_log,
             .group_blocks = s.group_blocks,
             .group_blocks_log = s.group_blocks_log,
             .groups = s.groups,
             .blocks = s.data_blocks,
             .inode_bytes = s.inode_bytes,
             .inodes_per_block_log = s.inodes_per_block_log,
             .directory_block_log = std::uint32_t{s.directory_block_log} + s.block_log,
             .root = inode_number{std::uint64_t{s.root_inode}},
             .id = version5 && (s.incompatible & xfs::incompatible_metadata_id) != 0 ? s.metadata_id
                                                                                     : s.id};
  if (source.bytes() >> g.block_log < g.blocks)
    throw refused(source,
                  fmt::format("the file system has {} bytes, and the device {}: it was cut off; "
                              "name the whole device",
                              g.blocks << g.block_log, source.bytes()));
  first.require(s.log_blocks != 0 && g.place(s.log_start, s.log_blocks).has_value(),
                "a log that is not within an allocation group");
  g.log_block = s.log_start;
  g.log_blocks = s.log_blocks;
  first.require(g.place(g.root).has_value(), "a root directory that is nowhere");
  return g;
}

}  // namespace gnstor::host::files

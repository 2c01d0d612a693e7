#include "files/inode.hpp"

#include <gnstor/host/error.hpp>

#include <fmt/format.h>

namespace gnstor::host::files {
namespace {

file_kind kind_of(std::uint16_t mode) {
  switch (mode & xfs::mode_kind_mask) {
    case 0010000: return file_kind::fifo;
    case 0020000: return file_kind::character_device;
    case 0040000: return file_kind::directory;
    case 0060000: return file_kind::block_device;
    case 0100000: return file_kind::regular;
    case 0120000: return file_kind::symlink;
    case 0140000: return file_kind::socket;
    default: return file_kind::unknown;
  }
}

/// Whether the data of such a file may be kept so.
bool possible_format(file_kind kind, std::uint8_t format) {
  switch (kind) {
    case file_kind::regular: return format == xfs::format_extents || format == xfs::format_tree;
    case file_kind::symlink: return format == xfs::format_local || format == xfs::format_extents;
    case file_kind::directory: return format >= xfs::format_local && format <= xfs::format_tree;
    default: return format == xfs::format_device;
  }
}

/// Seconds and nanoseconds of 32 bits each, or nanoseconds since 1901.
file_time time_of(std::uint64_t raw, bool big) {
  constexpr std::uint64_t second = 1'000'000'000;
  constexpr std::int64_t epoch = std::int64_t{1} << 31;
  if (big)
    return {static_cast<std::int64_t>(raw / second) - epoch,
            static_cast<std::uint32_t>(raw % second)};
  return {static_cast<std::int32_t>(raw >> 32), static_cast<std::uint32_t>(raw)};
}

void check_core(const structure& raw, const geometry& shape, inode_number number) {
  const auto core = raw.load<xfs::inode_core>(0);
  raw.require(core.magic == xfs::inode_magic, "it does not begin with \"IN\"");
  if (shape.version5) {
    raw.require(core.version == 3, "an inode version that this format does not have");
    raw.require_crc(offsetof(xfs::inode_core, crc));
    raw.require(core.id == shape.id, "it belongs to another file system (UUID)");
    raw.require(core.number == value(number), "it says that it has another number");
  } else {
    raw.require(core.version == 1 || core.version == 2,
                "an inode version that this format does not have");
  }
}

}  // namespace

file_status inode::status() const {
  const bool big = (core.flags2 & xfs::flag2_big_time) != 0;
  file_status s{.inode = number,
                .kind = kind,
                .permissions = static_cast<std::uint16_t>(core.mode & 07777),
                .user = core.user,
                .group = core.group,
                .links = core.version == 1 ? std::uint32_t{core.old_links} : core.links,
                .bytes = core.bytes,
                .extents = extents,
                .generation = core.generation,
                .accessed = time_of(core.accessed, big),
                .modified = time_of(core.modified, big),
                .changed = time_of(core.changed, big)};
  if (core.version >= 3) s.created = time_of(core.created, big);
  return s;
}

structure inode_reader::raw(inode_number number) {
  const std::string what = fmt::format("inode {}", value(number));
  const std::optional<inode_place> place = shape_->place(number);
  if (!place)
    throw error(fmt::format("{}: there is no {} in this file system", source_->name(), what));
  if (!index_.in_use(*place))
    throw error(fmt::format("{}: {} is not in use", source_->name(), what));
  if (!block_ || block_->offset() != place->block)
    block_.emplace(*source_, "block of inodes", place->block, shape_->block_bytes());
  const auto bytes = block_->part(place->in_block, shape_->inode_bytes);
  return structure(*source_, what, place->block + place->in_block, {bytes.begin(), bytes.end()});
}

inode inode_reader::read(inode_number number) {
  inode i{.number = number, .raw = raw(number)};
  const structure& raw = i.raw;
  check_core(raw, *shape_, number);
  i.core = raw.load<xfs::inode_core>(0);
  i.fork_at = sizeof(xfs::inode_core);
  if (!shape_->version5) {
    i.fork_at = xfs::inode_core_bytes2;
    i.core.flags2 = {};
    i.core.created = {};
  }
  i.kind = kind_of(i.core.mode);
  raw.require(i.kind != file_kind::unknown, "a mode of no kind of file");
  raw.require(possible_format(i.kind, i.core.format), "a format that its kind does not have");
  raw.require(i.core.bytes >> 63 == 0, "an impossible length");
  raw.require((i.core.flags & xfs::flag_realtime) == 0 || i.kind != file_kind::regular,
              "a file on a realtime device, which there is not");
  const std::size_t literal = shape_->inode_bytes - i.fork_at;
  i.fork_bytes = i.core.attribute_offset == 0 ? literal : i.core.attribute_offset * 8u;
  raw.require(i.fork_bytes <= literal, "attributes that begin behind its end");
  const bool large = (i.core.flags2 & xfs::flag2_large_counters) != 0;
  i.extents = large ? std::uint64_t{i.core.large_extents} : i.core.extents;
  return i;
}

}  // namespace gnstor::host::files

#include "files/symlink.hpp"

#include "files/extent_list.hpp"
#include "files/ondisk/symlink_block.hpp"
#include "files/verify.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::host::files {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What an extent holds of the target, of which `left` bytes are to come.
std::string part_of(const structure& s, const geometry& shape, const inode& link,
                    std::uint64_t done, std::uint64_t left) {
  if (!shape.version5) return text_of(s.part(0, std::min<std::size_t>(s.bytes().size(), left)));
  const auto header = s.load<xfs::symlink_block>(0);
  s.require(header.magic == xfs::symlink_magic, "it is no block of a symbolic link");
  verify<xfs::symlink_block>(s, shape, value(link.number));
  s.require(header.offset == done && header.bytes != 0 && header.bytes <= left,
            "it is another part of the target");
  return text_of(s.part(sizeof header, header.bytes));
}

}  // namespace

std::string read_symlink(block_source& source, const geometry& shape, const inode& link) {
  const std::uint64_t bytes = link.core.bytes;
  link.raw.require(bytes != 0 && bytes <= xfs::symlink_max_bytes, "an impossible length");
  std::string target;
  if (link.core.format == xfs::format_local) {
    link.raw.require(bytes <= link.fork_bytes, "it is longer than its room");
    target = text_of(link.raw.part(link.fork_at, static_cast<std::size_t>(bytes)));
  } else {
    std::uint64_t next = 0;
    for (const block_extent& e : read_extents(source, shape, link)) {
      if (target.size() == bytes) break;
      link.raw.require(e.file_block == next && !e.unwritten &&
                           e.blocks << shape.block_log <= 64 * xfs::symlink_max_bytes,
                       "a target with holes");
      const structure s(source, fmt::format("target of symbolic link {}", value(link.number)),
                        e.device_offset, static_cast<std::size_t>(e.blocks << shape.block_log));
      target += part_of(s, shape, link, target.size(), bytes - target.size());
      next += e.blocks;
    }
  }
  link.raw.require(target.size() == bytes && target.find('\0') == std::string::npos,
                   "a target shorter than it says");
  return target;
}

}  // namespace gnstor::host::files

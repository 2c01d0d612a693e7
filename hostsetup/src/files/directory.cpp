#include "files/directory.hpp"

#include "files/ondisk/directory_block.hpp"
#include "files/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace gnstor::host::files {
namespace {

file_kind kind_of_entry(std::uint8_t on_disk) {
  constexpr file_kind kinds[] = {file_kind::unknown,      file_kind::regular,
                                 file_kind::directory,    file_kind::character_device,
                                 file_kind::block_device, file_kind::fifo,
                                 file_kind::socket,       file_kind::symlink};
  return on_disk < std::size(kinds) ? kinds[on_disk] : file_kind::unknown;
}

/// The names that are collected, each one checked.
class name_collector {
 public:
  name_collector(const geometry& shape, inode_number directory)
      : shape_(&shape), directory_(directory) {}

  void add(const structure& s, std::span<const std::byte> name, std::uint64_t inode,
           std::uint8_t kind) {
    s.require(!name.empty(), "an entry without a name");
    const std::string text(reinterpret_cast<const char*>(name.data()), name.size());
    s.require(shape_->place(inode_number{inode}).has_value(), "an entry that leads nowhere");
    if (text == "." || text == "..") {
      s.require(text == ".." || inode == value(directory_), "\".\" is another directory");
      return;
    }
    s.require(text.find('/') == std::string::npos && text.find('\0') == std::string::npos,
              "a name with '/' or a zero byte in it");
    entries_.push_back({text, inode_number{inode}, kind_of_entry(kind)});
  }
  std::vector<directory_entry> take() { return std::move(entries_); }

 private:
  const geometry* shape_;
  inode_number directory_;
  std::vector<directory_entry> entries_;
};

/// A directory that its inode holds.
void add_short(const structure& raw, const inode& directory, const geometry& shape,
               name_collector& names) {
  raw.require(directory.core.bytes <= directory.fork_bytes, "it is longer than its room");
  const structure s(raw, directory.fork_at, static_cast<std::size_t>(directory.core.bytes));
  const auto header = s.load<xfs::short_directory>(0);
  s.require(header.long_count == 0 || header.count >= header.long_count,
            "it counts more long numbers than entries");
  const std::size_t number_bytes = header.long_count == 0 ? 4 : 8;
  const auto number_at = [&](std::size_t at) -> std::uint64_t {
    return number_bytes == 4 ? std::uint64_t{s.load<xfs::big32>(at)} : s.load<xfs::big64>(at);
  };
  std::size_t at = sizeof header;
  s.require(shape.place(inode_number{number_at(at)}).has_value(), "\"..\" leads nowhere");
  at += number_bytes;
  for (std::uint32_t k = 0; k < header.count; ++k) {
    const auto entry = s.load<xfs::short_name>(at);
    at += sizeof entry;
    const auto name = s.part(at, entry.bytes);
    at += name.size();
    std::uint8_t kind = 0;
    if (shape.file_types) kind = s.load<std::uint8_t>(at++);
    names.add(s, name, number_at(at), kind);
    at += number_bytes;
  }
  s.require(at == s.bytes().size(), "its entries do not end where it does");
}

/// The entries of a block of names, from `at` to `end`.
void add_entries(const structure& s, std::size_t at, std::size_t end, const geometry& shape,
                 name_collector& names) {
  constexpr std::size_t tag_bytes = sizeof(xfs::big16);
  for (std::size_t next = at; at < end; at = next) {
    const auto room = s.load<xfs::directory_room>(at);
    if (room.tag == xfs::free_tag) {
      next = at + room.bytes;
      s.require(room.bytes >= 8 && room.bytes % 8 == 0 && next <= end, "impossible free space");
    } else {
      const auto entry = s.load<xfs::directory_name>(at);
      const std::size_t kind_bytes = shape.file_types ? 1 : 0;
      const std::size_t used = sizeof entry + entry.bytes + kind_bytes + tag_bytes;
      next = at + (used + 7) / 8 * 8;
      s.require(next <= end, "an entry that leads beyond the entries' end");
      const auto name = s.part(at + sizeof entry, entry.bytes);
      const std::uint8_t kind = shape.file_types
                                    ? s.load<std::uint8_t>(at + sizeof entry + entry.bytes)
                                    : std::uint8_t{0};
      names.add(s, name, entry.inode, kind);
    }
    s.require(s.load<xfs::big16>(next - tag_bytes) == at, "an entry whose tag is not its place");
  }
}

/// A block of a directory's names; blocks of directories may be several of the file system's.
void add_block(const structure& s, const geometry& shape, bool only, inode_number directory,
               name_collector& names) {
  const std::uint32_t magic = s.load<xfs::big32>(0);
  const std::uint32_t alone = shape.version5 ? xfs::only_block_magic5 : xfs::only_block_magic4;
  const std::uint32_t data = shape.version5 ? xfs::data_block_magic5 : xfs::data_block_magic4;
  s.require(magic == data || (magic == alone && only), "it is no block of names");
  verify<xfs::directory_block5>(s, shape, value(directory));
  std::size_t end = s.bytes().size();
  if (magic == alone) {
    end -= sizeof(xfs::directory_tail);
    const auto tail = s.load<xfs::directory_tail>(end);
    s.require(tail.count <= end / xfs::hash_entry_bytes, "its index does not fit");
    end -= tail.count * xfs::hash_entry_bytes;
  }
  const std::size_t begin =
      shape.version5 ? sizeof(xfs::directory_block5) : sizeof(xfs::directory_block4);
  s.require(begin <= end, "its index does not fit");
  add_entries(s, begin, end, shape, names);
}

/// Reads `bytes` bytes of a directory from block `first` on, whose extents may lie apart.
structure gather(block_source& source, const geometry& shape, const inode& directory,
                 std::span<const block_extent> from) {
  std::vector<std::byte> bytes(shape.directory_block_bytes());
  const std::uint64_t first = from.front().file_block;
  const std::uint64_t count = bytes.size() >> shape.block_log;
  std::uint64_t done = 0;
  for (const block_extent& e : from) {
    if (done == count || e.file_block != first + done) break;
    const std::uint64_t blocks = std::min(e.blocks, count - done);
    source.read(e.device_offset,
                std::span(bytes).subspan(static_cast<std::size_t>(done << shape.block_log),
                                         static_cast<std::size_t>(blocks << shape.block_log)));
    done += blocks;
  }
  structure s(source, fmt::format("block of directory {}", value(directory.number)),
              from.front().device_offset, std::move(bytes));
  s.require(done == count, "a part of it is not there");
  return s;
}

}  // namespace

std::vector<directory_entry> read_directory(block_source& source, const geometry& shape,
                                            const inode& directory) {
  name_collector names(shape, directory.number);
  if (directory.core.format == xfs::format_local) {
    add_short(directory.raw, directory, shape, names);
    return names.take();
  }
  const std::uint64_t per_block = shape.directory_block_bytes() >> shape.block_log;
  const std::uint64_t index = xfs::directory_index_offset >> shape.block_log;
  directory.raw.require(directory.core.bytes % shape.directory_block_bytes() == 0 &&
                            directory.core.bytes <= xfs::directory_index_offset,
                        "an impossible length of a directory");
  const std::uint64_t end = directory.core.bytes >> shape.block_log;
  std::vector<block_extent> extents = read_extents(source, shape, directory);
  const bool only = end == per_block;
  for (std::size_t k = 0; k < extents.size() && extents[k].file_block < index;) {
    block_extent& e = extents[k];
    directory.raw.require(!e.unwritten, "a directory with unwritten blocks");
    directory.raw.require(e.file_block % per_block == 0 && e.file_block < end,
                          "a block of names behind its end, or in the midst of another one");
    add_block(gather(source, shape, directory, std::span(extents).subspan(k)), shape, only,
              directory.number, names);
    // Goes on behind this block, which may have taken several extents.
    const std::uint64_t next = e.file_block + per_block;
    for (; k < extents.size() && extents[k].file_block + extents[k].blocks <= next; ++k) continue;
    if (k == extents.size() || extents[k].file_block >= next) continue;
    const std::uint64_t skip = next - extents[k].file_block;
    extents[k] = {next, extents[k].device_offset + (skip << shape.block_log),
                  extents[k].blocks - skip, extents[k].unwritten};
  }
  return names.take();
}

}  // namespace gnstor::host::files

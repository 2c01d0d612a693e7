#include "file_pieces.hpp"
#include "same_disk.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/file_array.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace gnstor::host {

struct file_pages::table {
  files::file_layout layout;
  std::vector<file_piece> pieces;
  memory_block copy;  ///< of the pieces, where lanes reach them
  memory_block word;  ///< of a mounted file: not 0 once it is stale
  std::shared_ptr<void> subscription;
  std::optional<files::mounted_file> mounted;  ///< leased for as long as it is read
};

file_pages::file_pages(session& s, const volume_info& where, const files::file_layout& layout)
    : session_(&s), where_(where), table_(std::make_shared<table>()) {
  if (!where.plain()) {
    throw input_error(
        fmt::format("{}: volume {} is an array's: files lie on plain namespaces (emu-nvme:, "
                    "nvme://, rdma:// of "
                    "another target)",
                    layout.name, where.vid.value));
  }
  refuse_striped(where, layout.name);
  table_->layout = layout;
  table_->pieces = pieces_of(layout, where);
  const std::size_t bytes = table_->pieces.size() * sizeof(file_piece);
  table_->copy = memory_block(s.client_place(), bytes, s.options().device);
  table_->copy.write(0, table_->pieces.data(), bytes);
}

file_pages::file_pages(session& s, const volume_info& where, const files::mounted_file& file)
    : file_pages(s, where, file.layout()) {
  check_same_disk(s, where, file);
  const bool on_gpu = s.options().client == machine::gpu;
  table_->mounted = file;
  table_->word = memory_block(on_gpu ? place::pinned : place::host, 4, s.options().device);
  table_->subscription = file.set_when_stale(static_cast<std::uint32_t*>(table_->word.data()));
}

std::uint64_t file_pages::bytes() const { return table_->layout.bytes; }

detail::array_ground file_pages::ground() const {
  detail::array_ground g;
  g.name = table_->layout.name;
  g.remedy = "read a file of at least";
  // Whole pages: behind the file's end they read zeroes.
  constexpr std::uint64_t largest_page = 2 << 20;
  g.bytes = (bytes() + largest_page - 1) / largest_page * largest_page;
  g.least_page = std::max<std::uint32_t>(where_.lba_bytes, 512);
  g.where = session_->client_place();
  g.device = session_->options().device;
  g.session = session_;
  return g;
}

file_pages::store_type file_pages::store(std::uint32_t page_bytes) const {
  const auto* const pieces = static_cast<const file_piece*>(table_->copy.data());
  return {
      namespace_reader<remote_channel>(session_->channels(), where_.namespace_id, where_.lba_bytes,
                                       where_.max_transfer_blocks * block_bytes),
      file_map(pieces, static_cast<std::uint32_t>(table_->pieces.size())), page_bytes,
      static_cast<std::uint32_t*>(table_->word.data())};
}

void file_pages::read(std::uint64_t offset, void* to, std::uint64_t bytes) const {
  const file_map map(table_->pieces.data(), static_cast<std::uint32_t>(table_->pieces.size()));
  auto* out = static_cast<unsigned char*>(to);
  std::vector<unsigned char> blocks;
  for (std::uint64_t done = 0; done < bytes;) {
    constexpr std::uint64_t at_once = 1 << 20;
    const file_piece p = map.from(offset + done);
    if (p.bytes == 0) throw input_error(table_->layout.name + ": the file ends before that");
    const std::uint64_t n = std::min({p.bytes, bytes - done, at_once});
    if (p.is_stored()) {
      // A session reads whole blocks of 4 KiB.
      const std::uint64_t first = p.device_offset / block_bytes * block_bytes;
      const std::uint64_t skipped = p.device_offset - first;
      blocks.resize((skipped + n + block_bytes - 1) / block_bytes * block_bytes);
      session_->read(where_, first, blocks.data(), blocks.size());
      std::memcpy(out + done, blocks.data() + skipped, n);
    } else {
      std::memset(out + done, 0, n);
    }
    done += n;
  }
  check();
}

void file_pages::write(std::uint64_t, const void*, std::uint64_t) const {
  throw input_error(table_->layout.name +
                    ": a file is read alone: its blocks may be shared with other files");
}

void file_pages::check() const {
  if (table_->mounted) table_->mounted->check();
}

}  // namespace gnstor::host

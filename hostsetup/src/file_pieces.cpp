#include "file_pieces.hpp"

#include <gnstor/host/error.hpp>

#include <fmt/format.h>

namespace gnstor::host {

std::vector<file_piece> pieces_of(const files::file_layout& layout, const volume_info& where) {
  const std::uint64_t end = where.capacity_blocks * block_bytes;
  std::vector<file_piece> all;
  for (const files::file_extent& e : layout.extents) {
    if (e.bytes == 0) continue;
    const bool stored = e.state == files::extent_state::data;
    if (stored &&
        (e.device_offset % where.lba_bytes != 0 || e.file_offset % where.lba_bytes != 0)) {
      throw input_error(fmt::format(
          "{}: byte {} lies at byte {} of namespace {}, whose logical blocks have {} bytes: a file "
          "system of larger blocks, or a namespace of 512-byte blocks",
          layout.name, e.file_offset, e.device_offset, where.namespace_id, where.lba_bytes));
    }
    if (stored && (e.device_offset > end || e.bytes > end - e.device_offset)) {
      throw input_error(
          fmt::format("{}: byte {} lies behind the end of namespace {}: is it another disk?",
                      layout.name, e.file_offset, where.namespace_id));
    }
    const std::uint64_t at = stored ? e.device_offset : file_piece::nowhere;
    if (!stored && !all.empty() && !all.back().is_stored()) {
      all.back().bytes += e.bytes;
    } else {
      all.push_back({e.file_offset, at, e.bytes});
    }
  }
  return all;
}

}  // namespace gnstor::host

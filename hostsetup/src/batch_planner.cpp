#include "batch_planner.hpp"

#include "file_pieces.hpp"

#include <algorithm>

namespace gnstor::host {

void batch_planner::clear() {
  used_ = 0;
  files_.clear();
  reads_.clear();
  owners_.clear();
}

void batch_planner::add_unplanned(std::uint32_t index, std::uint64_t bytes) {
  files_.push_back({index, used_, bytes});
  used_ += room_of(bytes);
}

void batch_planner::add(std::uint32_t index, const files::file_layout& layout) {
  const std::vector<file_piece> pieces = pieces_of(layout, where_);
  const std::uint64_t begin = used_;
  add_unplanned(index, layout.bytes);
  for (const file_piece& p : pieces) add_read(p.device_offset, begin + p.file_offset, p.bytes);
  // What lies behind the file in its last page is nobody's.
  const std::uint64_t lba = where_.lba_bytes;
  const std::uint64_t covered = !pieces.empty() && pieces.back().is_stored()
                                    ? (layout.bytes + lba - 1) / lba * lba
                                    : layout.bytes;
  if (begin + covered < used_)
    add_read(file_piece::nowhere, begin + covered, used_ - begin - covered);
}

void batch_planner::add_read(std::uint64_t device_offset, std::uint64_t to, std::uint64_t bytes) {
  const std::uint64_t most = std::uint64_t{where_.max_transfer_blocks} * block_bytes;
  const std::uint64_t lba = where_.lba_bytes;
  const bool stored = device_offset != file_piece::nowhere;
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t n = std::min(bytes - done, most);
    file_read r;
    r.device_offset = stored ? device_offset + done : file_piece::nowhere;
    r.to = to + done;
    r.valid = static_cast<std::uint32_t>(n);
    r.bytes = static_cast<std::uint32_t>(stored ? (n + lba - 1) / lba * lba : n);
    reads_.push_back(r);
    owners_.push_back(static_cast<std::uint32_t>(files_.size() - 1));
    done += n;
  }
}

}  // namespace gnstor::host

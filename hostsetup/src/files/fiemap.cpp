#include "fiemap.hpp"

#include <gnstor/host/error.hpp>

#include <fmt/format.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace gnstor::host::files {
namespace {

constexpr std::uint32_t at_once = 256;

/// Why the data of an extent cannot be read from its device; null if it can.
const char* problem_of(std::uint32_t flags) {
  if ((flags & FIEMAP_EXTENT_UNKNOWN) != 0) return "has no place on its device yet";
  if ((flags & FIEMAP_EXTENT_ENCODED) != 0) return "is compressed or encrypted";
  if ((flags & (FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL | FIEMAP_EXTENT_NOT_ALIGNED)) !=
      0)
    return "lies inside its inode, or shares a block with others";
  return nullptr;
}

class extent_list {
 public:
  explicit extent_list(std::uint64_t bytes) : bytes_(bytes) {}

  /// Adds what begins at `from`, and a hole before it.
  void add(file_extent e) {
    hole_to(std::min(e.file_offset, bytes_));
    const std::uint64_t end = std::min(e.file_offset + e.bytes, bytes_);
    if (end <= at_) return;
    const std::uint64_t skipped = at_ - e.file_offset;
    e.file_offset = at_;
    e.bytes = end - at_;
    if (e.state == extent_state::data) e.device_offset += skipped;
    all_.push_back(e);
    at_ = end;
  }
  std::vector<file_extent> whole() {
    hole_to(bytes_);
    return std::move(all_);
  }

 private:
  void hole_to(std::uint64_t end) {
    if (end <= at_) return;
    all_.push_back({at_, 0, end - at_, extent_state::hole});
    at_ = end;
  }

  std::uint64_t bytes_;
  std::uint64_t at_ = 0;
  std::vector<file_extent> all_;
};

}  // namespace

std::vector<file_extent> fiemap(int file, const std::string& path, std::uint64_t bytes,
                                std::uint64_t device_start) {
  std::vector<std::uint64_t> memory((sizeof(::fiemap) + at_once * sizeof(fiemap_extent)) / 8);
  auto* const asked = reinterpret_cast<struct ::fiemap*>(memory.data());
  extent_list found(bytes);
  for (std::uint64_t from = 0; from < bytes;) {
    std::memset(asked, 0, sizeof *asked);
    asked->fm_start = from;
    asked->fm_length = FIEMAP_MAX_OFFSET - from;
    asked->fm_flags = FIEMAP_FLAG_SYNC;
    asked->fm_extent_count = at_once;
    if (::ioctl(file, FS_IOC_FIEMAP, asked) != 0) {
      const int problem = errno;
      throw input_error(fmt::format(
          "{}: its file system does not say where a file lies (FIEMAP: {}); XFS and ext4 do", path,
          std::strerror(problem)));
    }
    if (asked->fm_mapped_extents == 0) break;
    bool last = false;
    for (std::uint32_t k = 0; k < asked->fm_mapped_extents; ++k) {
      const fiemap_extent& e = asked->fm_extents[k];
      if (const char* problem = problem_of(e.fe_flags)) {
        throw input_error(fmt::format("{}: byte {} {}: read it through the file system", path,
                                      e.fe_logical, problem));
      }
      const bool unwritten = (e.fe_flags & FIEMAP_EXTENT_UNWRITTEN) != 0;
      found.add({e.fe_logical, unwritten ? 0 : device_start + e.fe_physical, e.fe_length,
                 unwritten ? extent_state::unwritten : extent_state::data});
      from = e.fe_logical + e.fe_length;
      last = (e.fe_flags & FIEMAP_EXTENT_LAST) != 0;
    }
    if (last) break;
  }
  return found.whole();
}

}  // namespace gnstor::host::files

#include "same_disk.hpp"

#include <gnstor/host/error.hpp>
#include <gnstor/host/file_descriptor.hpp>
#include <gnstor/host/memory_block.hpp>

#include <fcntl.h>
#include <fmt/format.h>

#include <cstring>
#include <vector>

namespace gnstor::host {

void refuse_striped(const volume_info& where, const std::string& who) {
  if (!where.striped()) return;
  throw input_error(who +
                    ": files lie on a namespace of one controller, and this volume is striped over "
                    "several: open a session on the one alone");
}

void check_same_disk(session& s, const volume_info& where, const files::mounted_file& file) {
  // The superblock of XFS is at byte 0, that of ext4 at 1024.
  constexpr std::uint64_t bytes = block_bytes;
  const file_descriptor disk(
      ::open(("/dev/" + file.disk()).c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  if (!disk.is_open()) return;
  const memory_block known(place::host, bytes);
  const std::uint64_t start = file.device_start() / bytes * bytes;
  if (::pread(disk.get(), known.data(), bytes, static_cast<off_t>(start)) !=
      static_cast<ssize_t>(bytes))
    return;
  std::vector<unsigned char> there(bytes);
  const bool reaches = start + bytes <= where.capacity_blocks * block_bytes;
  if (reaches) s.read(where, start, there.data(), bytes);
  if (reaches && std::memcmp(there.data(), known.data(), bytes) == 0) return;
  throw input_error(fmt::format(
      "{}: namespace {} is another disk than {}, which the file lies on: open the session on that "
      "one",
      file.layout().name, where.namespace_id, file.disk()));
}

}  // namespace gnstor::host

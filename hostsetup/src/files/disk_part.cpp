#include "disk_part.hpp"

#include <gnstor/host/error.hpp>

#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

namespace gnstor::host::files {

/// sysfs counts in sectors of 512 bytes.
disk_part disk_part::of(std::uint64_t device, const std::string& path) {
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::canonical(
      fmt::format("/sys/dev/block/{}:{}", major(device), minor(device)), none);
  if (none) {
    throw input_error(path +
                      ": its file system lies on no block device of this machine: use XFS or ext4");
  }
  if (!std::filesystem::exists(folder / "partition", none)) return {folder.filename().string(), 0};
  std::uint64_t sectors = 0;
  std::ifstream(folder / "start") >> sectors;
  return {folder.parent_path().filename().string(), sectors * 512};
}

}  // namespace gnstor::host::files

#include "disk.hpp"

#include <gnstor/host/error.hpp>
#include <gnstor/pcie/block_device_use.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace gnstor::host {

disk::disk(const std::string& path, bool read_only) : path_(path), read_only_(read_only) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0)
    throw input_error(fmt::format("disk:{}: {}", path, std::strerror(errno)));
  device_ = S_ISBLK(about.st_mode);
  if (!device_ && !S_ISREG(about.st_mode))
    throw input_error(fmt::format("disk:{}: this is neither a block device nor a file", path));
  if (device_ && !read_only_) {
    const std::string name = std::filesystem::canonical(path).filename().string();
    const std::string use = pcie::block_device_use().of(name);
    if (!use.empty()) {
      throw input_error(fmt::format(
          "disk:{}: {}: end that first, or add readonly=yes to read it meanwhile", path, use));
    }
  }
  open();
  lock();
  device_ ? measure_device() : measure_file(static_cast<std::uint64_t>(about.st_size));
}

void disk::open() {
  // A device that is opened exclusively is mounted by nobody meanwhile.
  const int way = O_CLOEXEC | (read_only_ ? O_RDONLY : device_ ? O_RDWR | O_EXCL : O_RDWR);
  file_ = file_descriptor(::open(path_.c_str(), way | O_DIRECT));
  if (!file_.is_open() && errno == EINVAL) {
    // Where a page cache is written to a disk later, one of several that ask hears of a failure.
    struct statfs about {};
    if (::statfs(path_.c_str(), &about) != 0 || about.f_type != TMPFS_MAGIC) {
      throw input_error(fmt::format(
          "disk:{}: its file system has no direct I/O (O_DIRECT): use ext4 or XFS", path_));
    }
    direct_ = false;
    file_ = file_descriptor(::open(path_.c_str(), way));
  }
  if (file_.is_open()) return;
  const int problem = errno;
  const char* remedy = "";
  if (problem == EACCES || problem == EPERM)
    remedy = ": run it as root, or give this user the device (a group such as disk)";
  if (problem == EROFS) remedy = ": add readonly=yes";
  if (problem == EBUSY) remedy = ": somebody else has it; add readonly=yes to read it meanwhile";
  throw error(fmt::format("disk:{}: {}{}", path_, std::strerror(problem), remedy));
}

void disk::lock() {
  if (device_ || ::flock(file_.get(), (read_only_ ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0) return;
  throw input_error(
      fmt::format("disk:{}: another process {} it", path_, read_only_ ? "writes" : "has opened"));
}

void disk::measure_device() {
  int block = 0;
  if (::ioctl(file_.get(), BLKGETSIZE64, &bytes_) != 0 ||
      ::ioctl(file_.get(), BLKSSZGET, &block) != 0)
    throw error(fmt::format("disk:{}: its size: {}", path_, std::strerror(errno)));
  if (block != 512 && block != 4096) {
    throw input_error(fmt::format(
        "disk:{}: its blocks have {} bytes; gnstor uses those of 512 and 4096", path_, block));
  }
  block_bytes_ = static_cast<std::uint32_t>(block);
  memory_alignment_ = block_bytes_;
}

bool disk::is_gone() const {
  std::uint64_t left = 0;
  return device_ && (::ioctl(file_.get(), BLKGETSIZE64, &left) != 0 || left == 0);
}

void disk::measure_file(std::uint64_t bytes) {
  constexpr std::uint32_t page = 4096;  // what every file system's direct I/O takes
  bytes_ = bytes / page * page;
  if (bytes_ == 0)
    throw input_error(fmt::format("disk:{}: {} bytes hold no block of {}", path_, bytes, page));
  block_bytes_ = page;
  memory_alignment_ = direct_ ? page : 1;
}

}  // namespace gnstor::host

#include <gnstor/files/file_source.hpp>
#include <gnstor/host/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace gnstor::host::files {
namespace {

constexpr std::size_t bounce_bytes = 1 << 20;

input_error cannot_open(const std::string& path, int code) {
  const char* const remedy =
      code == EACCES || code == EPERM ? ": run this as root, or as who may read the device" : "";
  return input_error(fmt::format("{}: opening: {}{}", path, std::strerror(code), remedy));
}

}  // namespace

file_source::file_source(std::string path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw cannot_open(path_, errno);
  struct stat about {};
  if (::fstat(file_, &about) != 0) {
    const int code = errno;
    ::close(file_);
    throw cannot_open(path_, code);
  }
  if (S_ISREG(about.st_mode)) {
    bytes_ = static_cast<std::uint64_t>(about.st_size);
    return;
  }
  ::close(file_);
  if (!S_ISBLK(about.st_mode))
    throw input_error(path_ + ": neither a file nor a block device: name the file system's device");
  file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (file_ < 0) throw cannot_open(path_, errno);
  int sector = 0;
  if (::ioctl(file_, BLKGETSIZE64, &bytes_) != 0 || ::ioctl(file_, BLKSSZGET, &sector) != 0) {
    const int code = errno;
    ::close(file_);
    throw cannot_open(path_, code);
  }
  alignment_ = static_cast<std::uint32_t>(std::max(sector, 512));
}

file_source::~file_source() { ::close(file_); }

void file_source::read_file(std::uint64_t offset, std::span<std::byte> to) const {
  for (std::size_t done = 0; done < to.size();) {
    const ssize_t got =
        ::pread(file_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw error(fmt::format("{}: reading {} bytes at {}: {}", path_, to.size(), offset,
                              got == 0 ? "it ends before" : std::strerror(errno)));
    }
    done += static_cast<std::size_t>(got);
  }
}

void file_source::read(std::uint64_t offset, std::span<std::byte> to) {
  if (offset > bytes_ || to.size() > bytes_ - offset) {
    throw error(fmt::format("{}: reading {} bytes at {}: it has {} bytes", path_, to.size(), offset,
                            bytes_));
  }
  if (alignment_ == 1) return read_file(offset, to);
  const std::size_t page = std::max<std::size_t>(alignment_, 4096);
  const std::size_t most = std::min(bounce_bytes, (to.size() / page + 2) * page);
  const std::unique_ptr<void, decltype(&std::free)> bounce(std::aligned_alloc(page, most),
                                                           &std::free);
  if (bounce == nullptr) throw error(path_ + ": no memory to read with");
  for (std::size_t done = 0; done < to.size();) {
    const std::uint64_t at = offset + done;
    const std::uint64_t begin = at / alignment_ * alignment_;
    const std::uint64_t wanted = std::min<std::uint64_t>(at + to.size() - done, bytes_) - begin;
    const std::uint64_t rounded = (wanted + alignment_ - 1) / alignment_ * alignment_;
    const std::size_t bytes = static_cast<std::size_t>(std::min<std::uint64_t>(rounded, most));
    read_file(begin, {static_cast<std::byte*>(bounce.get()), bytes});
    const std::size_t skip = static_cast<std::size_t>(at - begin);
    const std::size_t part = std::min(bytes - skip, to.size() - done);
    std::memcpy(to.data() + done, static_cast<std::byte*>(bounce.get()) + skip, part);
    done += part;
  }
}

}  // namespace gnstor::host::files

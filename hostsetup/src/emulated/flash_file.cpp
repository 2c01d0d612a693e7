#include "flash_file.hpp"

#include "keep_name.hpp"
#include "reserve_file.hpp"
#include <gnstor/host/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace gnstor::host {

flash_file::flash_file(const std::string& path, std::size_t bytes) : path_(path), bytes_(bytes) {
  const auto fail = [&](const std::string& why) {
    undo();
    if (descriptor_ >= 0) close(descriptor_);
    throw host::error(fmt::format("flash file {}: {}", path, why));
  };
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  const bool created = descriptor_ >= 0;
  if (!created && errno == EEXIST) descriptor_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor_ < 0)
    fail(fmt::format("{}; point flash= to a folder that exists and is writable",
                     std::strerror(errno)));
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0)
    fail("another process uses it: close that one, or use another flash=");
  struct stat info {};
  if (fstat(descriptor_, &info) != 0) fail(std::strerror(errno));
  fresh_ = info.st_size == 0;
  created_ = created;
  if (!fresh_ && static_cast<std::size_t>(info.st_size) != bytes) {
    fail(
        fmt::format("has {} bytes but this endpoint needs {}: use the capacity= and shards= it was "
                    "made with, or "
                    "another folder",
                    info.st_size, bytes));
  }
  if (!reserve_file(descriptor_, bytes)) {
    const int why = errno;
    fail(fmt::format("{} ({} bytes): make room, or use a smaller capacity= or another flash=",
                     std::strerror(why), bytes));
  }
  if (fresh_) keep_name(path);
  data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (data_ == MAP_FAILED) fail(std::strerror(errno));
  try {
    guard_ = std::make_unique<mapping_guard>(data_, bytes, descriptor_);
  } catch (const host::error& e) {
    munmap(data_, bytes);
    fail(e.what());
  }
}

void flash_file::undo() noexcept {
  if (!std::exchange(fresh_, false)) return;
  if (created_) {
    (void)unlink(path_.c_str());
  } else {
    (void)!ftruncate(descriptor_, 0);
  }
}

bool flash_file::sync() noexcept {
  if (msync(data_, bytes_, MS_SYNC) != 0) guard_->fail(errno);
  return error() == 0;
}

flash_file::~flash_file() {
  guard_.reset();
  if (data_ != nullptr) munmap(data_, bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace gnstor::host

#include "shared_memory.hpp"

#include <gnstor/host/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace gnstor::host {

shared_memory::shared_memory(std::size_t bytes)
    : file_(::memfd_create("gnstor", MFD_CLOEXEC | MFD_ALLOW_SEALING)),
      bytes_((bytes + 4095) / 4096 * 4096) {
  if (!file_.is_open() || ::ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0 ||
      ::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    throw error(fmt::format("no {} bytes of memory to share: {}", bytes_, std::strerror(errno)));
  }
  map(0);
}

shared_memory shared_memory::received(file_descriptor file, std::size_t bytes) {
  shared_memory m;
  m.file_ = std::move(file);
  m.bytes_ = bytes;
  struct stat s {};
  const int seals = ::fcntl(m.file_.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(m.file_.get(), &s) != 0 || bytes == 0 ||
      bytes % 4096 != 0 || static_cast<std::uint64_t>(s.st_size) < bytes) {
    throw input_error(fmt::format(
        "shared memory of {} bytes: send a memfd of whole pages that is sealed against shrinking",
        bytes));
  }
  m.map(0);
  return m;
}

shared_memory shared_memory::mapped(file_descriptor file, std::uint64_t offset, std::size_t bytes) {
  shared_memory m;
  m.file_ = std::move(file);
  m.bytes_ = bytes;
  m.map(offset);
  return m;
}

void shared_memory::map(std::uint64_t offset) {
  void* const at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(),
                          static_cast<off_t>(offset));
  if (at == MAP_FAILED)
    throw error(fmt::format("mapping {} shared bytes: {}", bytes_, std::strerror(errno)));
  data_ = at;
}

shared_memory::shared_memory(shared_memory&& other) noexcept
    : file_(std::move(other.file_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

shared_memory& shared_memory::operator=(shared_memory&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

shared_memory::~shared_memory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace gnstor::host

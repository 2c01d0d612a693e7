#pragma once

#include <gnstor/host/error.hpp>

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace gnstor::host::pcie {

/// The registers of a BAR, mapped into this process. Move-only owner.
class mapped_registers {
 public:
  mapped_registers() = default;
  /// Maps `bytes` of an open file at `offset`. Throws `error` that names `what`.
  mapped_registers(int fd, std::uint64_t offset, std::uint64_t bytes, const std::string& what)
      : bytes_(bytes) {
    void* const at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
    if (at == MAP_FAILED)
      throw error(fmt::format("{}: mapping its registers: {}", what, std::strerror(errno)));
    base_ = static_cast<unsigned char*>(at);
  }
  mapped_registers(mapped_registers&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  mapped_registers& operator=(mapped_registers&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~mapped_registers() {
    if (base_ != nullptr) ::munmap(base_, bytes_);
  }

  /// Puts memory that reads all ones in their place: whoever uses them goes on, and reaches
  /// nothing.
  void vacate() noexcept {
    void* const at = ::mmap(base_, bytes_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (at != MAP_FAILED) std::memset(at, 0xff, bytes_);
  }

  unsigned char* data() const { return base_; }
  std::uint64_t bytes() const { return bytes_; }

  /// One access of 4 bytes, or two, the lower half first: what every bridge passes on. Beyond the
  /// BAR: all ones.
  std::uint64_t read(std::uint64_t offset, std::uint32_t bytes) const {
    const std::uint64_t low = read32(offset);
    return bytes == 4 ? low : low | read32(offset + 4) << 32;
  }
  void write(std::uint64_t offset, std::uint64_t value, std::uint32_t bytes) const {
    write32(offset, static_cast<std::uint32_t>(value));
    if (bytes == 8) write32(offset + 4, static_cast<std::uint32_t>(value >> 32));
  }

 private:
  volatile std::uint32_t* word(std::uint64_t offset) const {
    if (offset % 4 != 0 || offset > bytes_ || bytes_ - offset < 4) return nullptr;
    return reinterpret_cast<volatile std::uint32_t*>(base_ + offset);
  }
  std::uint64_t read32(std::uint64_t offset) const {
    const volatile std::uint32_t* const w = word(offset);
    return w == nullptr ? 0xffffffff : std::uint64_t{*w};
  }
  void write32(std::uint64_t offset, std::uint32_t value) const {
    if (volatile std::uint32_t* const w = word(offset)) *w = value;
  }

  unsigned char* base_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace gnstor::host::pcie

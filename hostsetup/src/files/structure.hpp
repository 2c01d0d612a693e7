#pragma once

#include <gnstor/files/block_source.hpp>

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace gnstor::host::files {

/// The bytes of a structure on the disk, which are not read beyond their end, and what messages say
/// of it.
class structure {
 public:
  /// Reads it. Throws `error` if the device cannot.
  structure(block_source& source, std::string what, std::uint64_t offset, std::size_t bytes);
  /// Of bytes that lie apart on the device; the first of them at `offset`.
  structure(const block_source& source, std::string what, std::uint64_t offset,
            std::vector<std::byte> bytes);

  /// A part of another one, of which messages say the same.
  structure(const structure& whole, std::size_t at, std::size_t bytes);

  std::uint64_t offset() const { return offset_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  /// `bytes` bytes from `at` on. Throws `error` if it has not so many.
  std::span<const std::byte> part(std::size_t at, std::size_t bytes) const {
    if (at > bytes_.size() || bytes > bytes_.size() - at)
      damaged("something in it leads beyond its end");
    return std::span(bytes_).subspan(at, bytes);
  }
  template <class T>
  T load(std::size_t at) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, part(at, sizeof value).data(), sizeof value);
    return value;
  }

  /// Throws `error`: "/dev/sda: the inode 133 at byte 66048 is damaged: `why`: run xfs_repair".
  [[noreturn]] void damaged(const std::string& why) const;
  void require(bool holds, const char* why) const {
    if (!holds) damaged(why);
  }
  /// Throws `error` if the CRC-32C at `crc_at` is not that of these bytes.
  void require_crc(std::size_t crc_at) const;

 private:
  std::string source_name_;
  std::string what_;
  std::uint64_t offset_;
  std::vector<std::byte> bytes_;
};

}  // namespace gnstor::host::files

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gnstor::serve {

/// What a namespace is made of.
struct volume_shape {
  std::uint64_t blocks = 0;    ///< of 4096 bytes
  std::uint64_t identity = 0;  ///< stays with the volume for its life; no other volume has it
  bool writable = false;       ///< false while another client of the array holds the write right

  /// True if `n` blocks from `first` on are all there.
  bool holds(std::uint64_t first, std::uint64_t n) const {
    return first <= blocks && n <= blocks - first;
  }
};

class block_volume;

/// A volume as a plain NVMe host sees it: replicas and rights are the implementation's business.
///
/// Any thread may call; a call returns when it is done. Statuses are NVMe status fields, 0 for
/// success.
class volume_store {
 public:
  virtual ~volume_store() = default;

  /// Asks for the rights that the first controller of the volume needs, and gives them back with
  /// the last. The volume may be read-only after `attach`: `shape` says so.
  virtual std::uint16_t attach() = 0;
  virtual void detach() = 0;

  virtual volume_shape shape() const = 0;
  /// `first` and the number of blocks (bytes / 4096) lie within the volume.
  virtual std::uint16_t read(std::uint64_t first, std::span<std::byte> to) = 0;
  virtual std::uint16_t write(std::uint64_t first, std::span<const std::byte> from) = 0;
  virtual std::uint16_t write_zeroes(std::uint64_t first, std::uint64_t blocks) = 0;
  virtual std::uint16_t flush() = 0;
  /// The same volume for block engines, by which its blocks move without a thread; null: by the
  /// calls above alone.
  virtual block_volume* blocks() { return nullptr; }
};

}  // namespace gnstor::serve

#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::nvme {

/// A keyed SGL data block descriptor: where a command's data lies in the host's registered memory.
///
/// The target moves the data itself by one-sided RDMA, opened by `key`, the memory region's rkey.
/// NVMe Base 2.3, 4.3.2, "Keyed SGL Data Block descriptor".
struct keyed_sgl {
  std::uint64_t address;
  std::uint64_t length_key_type;  ///< length 23:0, key 55:24, type 63:60, sub type 59:56

  GNSTOR_HD constexpr std::uint32_t length() const {
    return static_cast<std::uint32_t>(length_key_type & 0xffffff);
  }
  GNSTOR_HD constexpr std::uint32_t key() const {
    return static_cast<std::uint32_t>(length_key_type >> 24);
  }
  /// The length of a descriptor without a key, as `offset_data_block`.
  GNSTOR_HD constexpr std::uint32_t unkeyed_length() const {
    return static_cast<std::uint32_t>(length_key_type);
  }
  /// Byte 15: the descriptor type in the high half, its sub type in the low half.
  GNSTOR_HD constexpr std::uint8_t type() const {
    return static_cast<std::uint8_t>(length_key_type >> 56);
  }
};

static_assert(sizeof(keyed_sgl) == 16 && std::is_trivial_v<keyed_sgl>);
static_assert(offsetof(keyed_sgl, address) == 0 && offsetof(keyed_sgl, length_key_type) == 8);

inline constexpr std::uint8_t keyed_data_block = 0x40;  ///< type 4h, sub type 0h: an address
/// Type 4h, sub type Fh: an address, whose key the answer is to invalidate. NVMe RDMA
/// Transport 1.1, "SGL Support".
inline constexpr std::uint8_t keyed_invalidated_block = 0x4f;
/// Type 0h, sub type 1h: data in the capsule, at an offset behind the command.
inline constexpr std::uint8_t offset_data_block = 0x01;
inline constexpr std::uint32_t max_keyed_sgl_bytes = 0xffffff;  ///< the length has 24 bits

/// The descriptor of `length` (at most `max_keyed_sgl_bytes`) bytes at `address`, opened by `key`.
///
/// Never the invalidate sub type (Fh): the region is registered once and outlives the command.
GNSTOR_HD constexpr keyed_sgl make_keyed_sgl(std::uint64_t address, std::uint32_t length,
                                             std::uint32_t key) {
  keyed_sgl sgl{};
  sgl.address = address;
  sgl.length_key_type = std::uint64_t{length & max_keyed_sgl_bytes} | std::uint64_t{key} << 24 |
                        std::uint64_t{keyed_data_block} << 56;
  return sgl;
}

/// The descriptor of a command without data. All zeroes would be an unkeyed block, which Linux's
/// RDMA target refuses.
GNSTOR_HD constexpr keyed_sgl make_empty_sgl() { return make_keyed_sgl(0, 0, 0); }

static_assert(make_keyed_sgl(1, 0x123456, 0x89abcdef).length_key_type == 0x4089abcdef123456);
static_assert(make_keyed_sgl(1, 0x123456, 0x89abcdef).key() == 0x89abcdef);

}  // namespace gnstor::wire::nvme

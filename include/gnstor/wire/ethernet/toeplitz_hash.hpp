#pragma once

#include <gnstor/wire/ethernet/network_order.hpp>

namespace gnstor::wire::ethernet {

/// The Toeplitz hash by which NICs spread packets over receive queues (receive-side scaling, RSS):
/// for each bit of the input that is set, the 32 bits of the key that begin at the same place.
///
/// Fields are added in the order of the packet: source and destination address, then source and
/// destination port where they count. Microsoft, "RSS Hashing Types"; 82599 datasheet, 7.1.2.8.
class toeplitz_hash {
 public:
  static constexpr std::uint32_t key_bytes = 40;
  static constexpr std::uint32_t most_bytes = key_bytes - 4;  ///< of the input: IPv6 and two ports

  /// @param key `key_bytes` of them, the first byte first
  GNSTOR_HD constexpr explicit toeplitz_hash(const std::uint8_t* key) : key_(key) {}

  GNSTOR_HD constexpr toeplitz_hash& add(std::uint8_t byte) {
    if (at_ == most_bytes) return *this;
    std::uint64_t bits = 0;  // the 40 of the key that begin at this byte
    for (std::uint32_t k = 0; k < 5; ++k) bits = bits << 8 | key_[at_ + k];
    ++at_;
    for (std::uint32_t bit = 8; bit != 0; --bit) {
      if ((byte >> (bit - 1) & 1) != 0) value_ ^= static_cast<std::uint32_t>(bits >> bit);
    }
    return *this;
  }
  GNSTOR_HD constexpr toeplitz_hash& add(network16 field) {
    const std::uint16_t number = field;
    return add(static_cast<std::uint8_t>(number >> 8)).add(static_cast<std::uint8_t>(number));
  }
  GNSTOR_HD constexpr toeplitz_hash& add(network32 field) { return add(field.high).add(field.low); }

  GNSTOR_HD constexpr std::uint32_t value() const { return value_; }

 private:
  const std::uint8_t* key_;
  std::uint32_t at_ = 0;
  std::uint32_t value_ = 0;
};

}  // namespace gnstor::wire::ethernet

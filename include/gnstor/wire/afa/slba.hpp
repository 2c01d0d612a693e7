#pragma once

#include <gnstor/core/units.hpp>

#include <type_traits>

namespace gnstor::wire::afa {

/// What the 64-bit SLBA of a GNStor I/O command means: VID 63:48, client 47:32, VBA 31:0.
///
/// The SSD itself checks who may touch which volume, so each command carries both ids.
/// GNStor, 4.5: "VID and client ID reuse the leftmost 32 bits of the SLBA".
struct slba {
  volume_id volume{};
  client_id client{};
  vba block{};

  GNSTOR_HD constexpr std::uint64_t pack() const {
    return std::uint64_t{volume.value} << 48 | std::uint64_t{client.value} << 32 | block.value;
  }
  GNSTOR_HD static constexpr slba unpack(std::uint64_t word) {
    slba address;
    address.volume = volume_id(static_cast<std::uint16_t>(word >> 48));
    address.client = client_id(static_cast<std::uint16_t>(word >> 32));
    address.block = vba(static_cast<std::uint32_t>(word));
    return address;
  }
};

/// The packed form of a volume's block as `client` names it.
GNSTOR_HD constexpr std::uint64_t pack_slba(volume_id volume, client_id client, vba block) {
  slba address;
  address.volume = volume;
  address.client = client;
  address.block = block;
  return address.pack();
}

static_assert(sizeof(slba) == 8 && std::is_trivially_copyable_v<slba>);
static_assert(pack_slba(volume_id(0x1234), client_id(0x5678), vba(0x9abcdef0)) ==
              0x123456789abcdef0);
static_assert(slba::unpack(0x123456789abcdef0).pack() == 0x123456789abcdef0);

}  // namespace gnstor::wire::afa

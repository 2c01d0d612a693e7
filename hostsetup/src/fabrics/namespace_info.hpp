#pragma once

#include <gnstor/wire/nvme/identify_namespace.hpp>

#include <array>
#include <string>

namespace gnstor::host::fabrics {

/// A namespace of a controller.
struct namespace_info {
  std::uint32_t nsid = 0;
  std::uint64_t blocks = 0;
  std::uint32_t block_bytes = 0;
  bool read_only = false;
  std::string problem;  ///< why gnstor cannot use it, with the remedy; empty if it can

  std::array<std::uint8_t, 16> nguid{};  ///< zero if the target gives none
  std::array<std::uint8_t, 8> eui64{};   ///< likewise

  std::uint64_t bytes() const { return blocks * block_bytes; }
  /// True if this may be the disk that `other` was: it may have grown, but nothing else.
  bool same_disk(const namespace_info& other) const {
    return nsid == other.nsid && block_bytes == other.block_bytes && blocks >= other.blocks &&
           nguid == other.nguid && eui64 == other.eui64;
  }
  /// What the target says of namespace `nsid`.
  static namespace_info from(std::uint32_t nsid, const wire::nvme::identify_namespace& said);
};

}  // namespace gnstor::host::fabrics

#pragma once

#include <gnstor/wire/nvme/identify_namespace.hpp>

#include <string>

namespace gnstor::host::fabrics {

/// A namespace of a controller.
struct namespace_info {
  std::uint32_t nsid = 0;
  std::uint64_t blocks = 0;
  std::uint32_t block_bytes = 0;
  bool read_only = false;
  std::string problem;  ///< why gnstor cannot use it, with the remedy; empty if it can

  std::uint64_t bytes() const { return blocks * block_bytes; }
  /// What the target says of namespace `nsid`.
  static namespace_info from(std::uint32_t nsid, const wire::nvme::identify_namespace& said);
};

}  // namespace gnstor::host::fabrics

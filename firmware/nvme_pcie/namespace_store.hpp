#pragma once

#include <cstdint>

namespace gnstor::fw {

/// Blocks of a namespace that memory alone does not keep over a power cut of the host, such as a
/// mapped file. CPU workers call it.
class namespace_store {
 public:
  virtual ~namespace_store() = default;

  /// Makes all that a namespace holds outlive a power cut. False if it cannot, also later: what was
  /// lost once is not known to be there.
  virtual bool flush(std::uint32_t nsid) noexcept = 0;
};

}  // namespace gnstor::fw

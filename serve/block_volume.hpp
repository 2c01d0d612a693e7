#pragma once

#include <serve/block/block_request.hpp>

#include <chrono>

namespace gnstor::serve {

/// A volume whose requests a block engine carries out, for plain hosts. Statuses are NVMe status
/// fields, 0 for success. Any thread may call.
class block_volume {
 public:
  virtual ~block_volume() = default;
  /// Fills in which volume a request is of. Not 0: it is refused.
  virtual std::uint16_t prepare(block_request& r) = 0;
  /// A prepared request has ended: what its host is answered.
  virtual std::uint16_t conclude(const block_request& r, std::chrono::nanoseconds took) = 0;
};

}  // namespace gnstor::serve

#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::fw {

/// Who an SSD is: its place in the array.
struct ssd_identity {
  std::uint32_t self = 0;       ///< index of this SSD
  std::uint32_t ssd_count = 1;  ///< SSDs of the array
  std::uint32_t epoch = 1;      ///< array epoch; kept in the metadata from then on
  bool may_grow = false;        ///< to recover: the array may have had fewer SSDs
  /// Which start of its machine this is, where flash is a file that another one may have lost parts
  /// of, in any order; 0 where flash keeps what was stored.
  std::uint32_t boot = 0;
  bool was_copied = false;  ///< to recover: a `metadata_image` has made it
  /// To recover: an SSD that was stopped in order was on its disk by then.
  bool flushes = true;
};

}  // namespace gnstor::fw

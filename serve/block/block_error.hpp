#pragma once

#include <gnstor/core/status.hpp>

namespace gnstor::serve {

/// Why a block device did not do what it was asked, in the words that block protocols have for it.
enum class block_error : std::uint8_t {
  none,
  not_permitted,  ///< the right to write is another host's, or has been lost
  no_space,       ///< the SSDs have no room for what was not written before
  gone,           ///< the volume has been deleted
  failed,         ///< an SSD, the connection, or the array
};

block_error block_error_of(status s);

}  // namespace gnstor::serve

#pragma once

#include <gnstor/io/callback_id.hpp>

namespace gnstor::inline v0 {

/// What is called when an asynchronous operation has ended; nothing by default: somebody waits.
struct completion_call {
  callback_id callback{};      ///< `callback_table::id<F>()`
  std::uint64_t argument = 0;  ///< handed to the callback
};

}  // namespace gnstor::inline v0

#pragma once

#include <gnstor/core/units.hpp>

namespace gnstor::inline v0 {

/// Names one request in flight on a channel, until its `wait` returns.
struct ticket {
  command_id id;  ///< slot and generation: a late completion of an earlier request cannot be
                  ///< mistaken for this one
};

}  // namespace gnstor::inline v0

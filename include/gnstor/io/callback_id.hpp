#pragma once

#include <gnstor/core/units.hpp>

namespace gnstor::inline v0 {

/// Names a callback of a `callback_table`, from 1 on; 0 is no callback.
using callback_id = strong_id<struct callback_id_tag, std::uint16_t>;

}  // namespace gnstor::inline v0

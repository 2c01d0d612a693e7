#pragma once
/// Moved: this name of the header goes with the next release (docs/renames.md).
#pragma message("<gnstor/channel/io_part.hpp> is <gnstor/io/io_step.hpp>")
#include <gnstor/io/io_step.hpp>

namespace gnstor::inline v0 {
using io_part [[deprecated("is io_step")]] = detail::io_step;
}

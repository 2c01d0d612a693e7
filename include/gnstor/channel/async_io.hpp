#pragma once
/// Moved: this name of the header goes with the next release (docs/renames.md).
#pragma message("<gnstor/channel/async_io.hpp> is <gnstor/io/async_io.hpp>")
#include <gnstor/io/async_io.hpp>

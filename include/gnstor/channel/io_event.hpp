#pragma once
/// Moved: this name of the header goes with the next release (docs/renames.md).
#pragma message("<gnstor/channel/io_event.hpp> is <gnstor/io/io_event.hpp>")
#include <gnstor/io/io_event.hpp>

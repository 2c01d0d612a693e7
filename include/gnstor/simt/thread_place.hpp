#pragma once
/// Moved: this name of the header goes with the next release (docs/renames.md).
#pragma message("<gnstor/simt/thread_place.hpp> is <gnstor/simt/thread_position.hpp>")
#include <gnstor/simt/thread_position.hpp>

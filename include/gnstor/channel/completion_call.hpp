#pragma once
/// Moved: this name of the header goes with the next release (docs/renames.md).
#pragma message("<gnstor/channel/completion_call.hpp> is <gnstor/io/completion_call.hpp>")
#include <gnstor/io/completion_call.hpp>

#pragma once
/// Moved: this name of the header goes with the next release (docs/renames.md).
#pragma message("<gnstor/channel/callback_table.hpp> is <gnstor/io/callback_table.hpp>")
#include <gnstor/io/callback_table.hpp>

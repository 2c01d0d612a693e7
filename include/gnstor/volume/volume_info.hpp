#pragma once
/// Moved: this name of the header goes with the next release (docs/renames.md).
#pragma message("<gnstor/volume/volume_info.hpp> is <gnstor/io/volume_info.hpp>")
#include <gnstor/io/volume_info.hpp>

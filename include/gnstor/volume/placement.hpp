#pragma once
/// Moved: this name of the header goes with the next release (docs/renames.md).
#pragma message("<gnstor/volume/placement.hpp> is <gnstor/io/placement.hpp>")
#include <gnstor/io/placement.hpp>

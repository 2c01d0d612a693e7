#pragma once
/// Moved: this name of the header goes with the next release (docs/renames.md).
#pragma message("<gnstor/volume/replica_set.hpp> is <gnstor/io/replica_set.hpp>")
#include <gnstor/io/replica_set.hpp>

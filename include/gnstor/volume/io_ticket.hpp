#pragma once
/// Moved: this name of the header goes with the next release (docs/renames.md).
#pragma message("<gnstor/volume/io_ticket.hpp> is <gnstor/io/io_ticket.hpp>")
#include <gnstor/io/io_ticket.hpp>

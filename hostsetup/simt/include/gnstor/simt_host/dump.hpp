#pragma once

#include <string>

namespace gnstor::simt::host {

/// Where every live lane of this thread's running executor stands, one line each; empty outside
/// `run()`.
std::string describe_lanes();

/// Prints `describe_lanes()` to stderr. For a debugger, in which parked lanes are invisible:
/// `call gnstor::simt::host::dump()`.
void dump();

}  // namespace gnstor::simt::host

#pragma once

#include "packet_options.hpp"
#include "packet_result.hpp"

#include <functional>

namespace gnstor::tools {

/// Called every second with what was counted so far, and the seconds since the last call.
using packet_look = std::function<void(const packet_result&, double)>;

/// Opens the NIC and runs flows on all its ports, for so many seconds or until the frames of an
/// emulated NIC's generators are through. Throws what `host::nic` and `host::packet_flow` throw.
packet_result run_packets(const packet_options& o, const packet_look& live);

}  // namespace gnstor::tools

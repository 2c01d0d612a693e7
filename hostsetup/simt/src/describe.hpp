#pragma once

#include "lane_state.hpp"

#include <string>

namespace gnstor::simt::host {

const char* name(domain d);

/// "grid 1 (nic) block 0 warp 2 lane 7".
std::string position(const lane_state& l);

/// Where a live lane stands: its position, and what it waits for or did last.
std::string describe(const lane_state& l);

/// The live lanes of `grids`, at most `limit` of them, each on a line of its own.
std::string describe(const std::vector<std::unique_ptr<grid_state>>& grids, std::size_t limit);

}  // namespace gnstor::simt::host

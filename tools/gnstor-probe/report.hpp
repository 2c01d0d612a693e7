#pragma once

#include "verdict.hpp"

namespace gnstor::host::probe {

/// Facts and verdicts for a reader: what is there, then each endpoint scheme with "works" or what
/// to change.
std::string report(const machine_facts& facts, const std::vector<verdict>& verdicts);

/// Words of the text and JSON reports.
const char* word(node_access access);
const char* word(module_state state);

}  // namespace gnstor::host::probe

#pragma once

#include "verdict.hpp"

#include <nlohmann/json_fwd.hpp>

namespace gnstor::host::probe {

/// Facts and verdicts for a program: every member under its own name.
nlohmann::ordered_json json_report(const machine_facts& facts,
                                   const std::vector<verdict>& verdicts);

}  // namespace gnstor::host::probe

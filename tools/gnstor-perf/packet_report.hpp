#pragma once

#include "packet_options.hpp"
#include "packet_result.hpp"

#include <string>

namespace gnstor::tools {

/// What a run found, for people.
std::string packets_text(const packet_options& o, const packet_result& r);
/// What went on since `before`, `seconds` ago, in one line.
std::string packets_live_text(const packet_result& now, const packet_result& before,
                              double seconds);
/// What a run found, for programs.
std::string packets_json(const packet_options& o, const packet_result& r);

}  // namespace gnstor::tools

#pragma once

#include "perf_options.hpp"
#include "perf_result.hpp"

#include <string>

namespace gnstor::tools {

/// What was measured, in lines like fio's.
std::string measured_text(const perf_options& o, const perf_result& r);
/// How a verification ended, in a line.
std::string verified_text(const perf_result& r, std::uint64_t bytes, std::uint32_t loops);
/// One line of a run that goes on: what was done since `before`.
std::string live_text(const perf_result& now, const perf_result& before, double seconds);
/// The same as JSON, in the form of fio's: jobs with read and write, their rates and latencies.
std::string result_json(const perf_options& o, const perf_result& r);

}  // namespace gnstor::tools

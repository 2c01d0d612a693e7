#pragma once

#include <gnstor/host/log.hpp>

#include <string>

namespace gnstor::host {

/// Says something to whom the application has chosen. Never throws; any thread.
void log(log_level level, const std::string& message) noexcept;

/// Whether `log` would say something of this level: before a message that is dear to make.
bool is_logged(log_level level) noexcept;

}  // namespace gnstor::host

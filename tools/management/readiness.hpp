#pragma once

#include <string>

namespace gnstor::tools {

/// Tells whoever supervises this process how it stands, where NOTIFY_SOCKET names it
/// (sd_notify(3)): "READY=1", "STOPPING=1", "STATUS=words". Otherwise nothing.
void notify_supervisor(const std::string& state) noexcept;

}  // namespace gnstor::tools

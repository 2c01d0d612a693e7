#pragma once

#include <functional>
#include <string_view>

namespace gnstor::host {

/// How much a message matters, least first.
enum class log_level {
  debug,    ///< single steps
  info,     ///< what came and went: connections, volumes
  warning,  ///< what goes on otherwise than was asked
  error,    ///< what is lost
  off,      ///< nothing
};

/// Takes the library's messages: a line each, without a line end, at whose level it is.
using log_sink = std::function<void(log_level, std::string_view)>;

/// Messages below `least` are not made. `warning` until this is called. Any thread, any time.
void set_log_level(log_level least);

/// Gives messages to the application instead of stderr, where each is a line "gnstor: ..."; an
/// empty one gives them back. The sink is called by any thread, one at a time; what it throws is
/// dropped. It must not call the library.
void set_log_sink(log_sink sink);

}  // namespace gnstor::host

#include "repeated_messages.hpp"

namespace gnstor::tools {

void repeated_messages::pass(host::log_level level, std::string_view message,
                             const std::function<void(host::log_level, const std::string&)>& say,
                             clock::time_point now) {
  for (auto at = counts_.begin(); at != counts_.end();) {
    if (now - at->second.since < std::chrono::minutes(1)) {
      ++at;
      continue;
    }
    if (at->second.left_out != 0)
      say(at->second.level,
          at->first + " (" + std::to_string(at->second.left_out) + " times more in a minute)");
    at = counts_.erase(at);
  }
  auto at = counts_.find(message);
  if (at == counts_.end()) {
    // What differs each time is no repetition: of so many messages a minute none is counted.
    if (counts_.size() == known) return say(level, std::string(message));
    at = counts_.emplace(std::string(message), count{level, now, 0, 0}).first;
  }
  if (at->second.said == most) {
    ++at->second.left_out;
    return;
  }
  ++at->second.said;
  say(level, std::string(message));
}

}  // namespace gnstor::tools

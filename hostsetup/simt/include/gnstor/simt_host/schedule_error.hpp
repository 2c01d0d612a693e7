#pragma once

#include <stdexcept>
#include <string>

namespace gnstor::simt::host {

/// A kernel broke a rule of the machine: deadlock, livelock, a shuffle from an exited lane, a scope
/// violation.
///
/// The message names the rule, the seed that replays it, the number of scheduling points, and where
/// every lane stood.
class schedule_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace gnstor::simt::host

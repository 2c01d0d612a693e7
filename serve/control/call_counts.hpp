#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace gnstor::serve {

/// How many calls of each kind have ended how. Any thread may use it.
class call_counts {
 public:
  /// A method of `gnstor.v1.Control`, and gRPC's status code.
  using kind = std::pair<std::string, int>;

  void note(const std::string& method, int code) {
    const std::lock_guard lock(guard_);
    ++counts_[{method, code}];
  }
  std::map<kind, std::uint64_t> all() const {
    const std::lock_guard lock(guard_);
    return counts_;
  }

 private:
  mutable std::mutex guard_;
  std::map<kind, std::uint64_t> counts_;
};

}  // namespace gnstor::serve

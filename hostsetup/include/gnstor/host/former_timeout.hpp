#pragma once

#include <gnstor/core/duration.hpp>

namespace gnstor::host {

/// A timeout as options had it, `timeout_ns`: for one release (docs/renames.md).
///
/// A type of its own, because a deprecated member warns wherever its class is copied; this one
/// warns where it is set.
class former_timeout {
 public:
  constexpr former_timeout() = default;
  [[deprecated("timeout_ns is timeout, a duration: .timeout = 5_s")]] constexpr former_timeout(
      std::uint64_t ns)  // NOLINT: it was an integer
      : ns_(ns), is_set_(true) {}

  /// What counts: this one if it was set, else `timeout`.
  constexpr duration or_else(duration timeout) const {
    return is_set_ ? duration::of_ns(ns_) : timeout;
  }

 private:
  std::uint64_t ns_ = 0;
  bool is_set_ = false;
};

}  // namespace gnstor::host

#pragma once

#include <gnstor/host/error.hpp>

#include <cstdint>

namespace gnstor::host::verbs {

/// What kept two ends from being joined.
enum class connect_failure : std::uint8_t {
  no_rdma,        ///< this machine has no RDMA device, or its drivers are not loaded
  no_permission,  ///< this user may not use the RDMA devices, or may not pin enough memory
  bad_address,    ///< the name or address cannot be resolved
  unreachable,    ///< no route, or nobody answers
  refused,        ///< the machine answers, and nobody listens on the port
  rejected,       ///< the listener said no; `reason()` holds its words
  timed_out,      ///< no answer within the time allowed
};

/// A connection that did not come about; `what()` names the peer, the cause and the remedy.
class connect_error : public error {
 public:
  connect_error(connect_failure kind, const std::string& what, std::uint16_t reason = 0)
      : error(what), kind_(kind), reason_(reason) {}
  connect_failure kind() const { return kind_; }
  /// For `rejected`: the status in the listener's private data, a
  /// `wire::fabrics::reject_reason`; 0 if it gave none.
  std::uint16_t reason() const { return reason_; }
  /// True if a later attempt may succeed without anybody changing this machine or the request.
  bool may_pass() const {
    return kind_ == connect_failure::unreachable || kind_ == connect_failure::refused ||
           kind_ == connect_failure::timed_out || kind_ == connect_failure::rejected;
  }

 private:
  connect_failure kind_;
  std::uint16_t reason_;
};

}  // namespace gnstor::host::verbs

#pragma once

#include <gnstor/qp/one_sided.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>

namespace gnstor::inline v0 {

/// What a proxied request asks the transport for.
enum class proxy_request_kind : std::uint8_t {
  none,
  capsule,    ///< SEND of the 64-byte command capsule
  one_sided,  ///< RDMA READ or WRITE
  nop,        ///< nothing: a lane reserved an index and gave it up
};

/// One request of a proxy queue pair, as the CPU thread hands it to a port.
///
/// A capsule reports only its failure, since its response tells of its success. One-sided transfers
/// and NOPs always report.
struct proxy_request {
  proxy_request_kind kind = proxy_request_kind::none;
  std::uint64_t index = 0;                 ///< send queue index: completions name it
  wire::nvme::submission_entry capsule{};  ///< of a capsule
  gnstor::one_sided transfer{};            ///< of a one-sided transfer
};

}  // namespace gnstor::inline v0

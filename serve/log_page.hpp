#pragma once

#include "target_model.hpp"

namespace gnstor::serve {

/// Where a connection was accepted, and from whom: what the discovery log says of the target.
struct target_port {
  std::string address = "0.0.0.0";  ///< IPv4 or IPv6
  std::string service = "4420";
  std::string peer;  ///< the address of the other end; empty: not known
};

/// Answers Get Log Page with the part of the page that `e` asks for, in `data`. NVMe Base 2.3,
/// 5.1.12; the discovery log 5.1.12.3.1.
answer log_page(const target_model& target, controller& c, const target_port& port,
                const wire::nvme::submission_entry& e, std::span<std::byte> data);

}  // namespace gnstor::serve
